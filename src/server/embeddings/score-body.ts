/** The body of /v1/score, as vLLM has it. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { parseWith } from '../schemas/parse.ts';
import { common } from './bodies.ts';
import { mixedInputOf, mixedItem, type MixedInput } from './mixed-inputs.ts';

const item = z.union([z.string(), mixedItem], {
  error: 'expected a text or an object with one, or with an image',
});
const items = boundedList(item, LIMITS.encoderTexts).refine((list) => list.length > 0, {
  error: 'expected at least one document',
});
const oneOrMany = z.union([item, items], {
  error: 'expected a text or a list of texts, or of images',
});

export const scoreSchema = z.looseObject({
  ...common,
  queries: oneOrMany.nullish(),
  documents: oneOrMany.nullish(),
  /** vLLM's other names. */
  text_1: oneOrMany.nullish(),
  text_2: oneOrMany.nullish(),
  data_1: oneOrMany.nullish(),
  data_2: oneOrMany.nullish(),
});
type ScoreBody = z.infer<typeof scoreSchema>;

export interface ScoreRequest extends Pick<ScoreBody, 'model' | 'user' | 'priority' | 'timeout'> {
  /** One query, or as many as there are documents; and documents. */
  readonly sides: readonly [readonly MixedText[], readonly MixedText[]];
}

/** Texts or images. */
export type MixedText = Exclude<MixedInput, Int32Array>;

/** @throws ApiError 400 naming the field */
export function parseScore(json: unknown): ScoreRequest {
  const body = parseWith(scoreSchema, json);
  const queries = sideOf(body, ['queries', 'text_1', 'data_1']);
  const documents = sideOf(body, ['documents', 'text_2', 'data_2']);
  if (queries.length !== 1 && queries.length !== documents.length) {
    throw badRequest(
      `\`documents\`: there are ${documents.length} for ${queries.length} queries; expected one query, or as many.`,
      'documents',
      'invalid_value',
    );
  }
  return { ...body, sides: [queries, documents] };
}

type SideName = 'queries' | 'documents' | 'text_1' | 'text_2' | 'data_1' | 'data_2';

function sideOf(body: ScoreBody, names: readonly [SideName, ...SideName[]]): readonly MixedText[] {
  const [usual] = names;
  const name = names.find((each) => (body[each] ?? null) !== null);
  const given = name === undefined ? null : body[name];
  if (given === null || given === undefined) {
    throw badRequest(`\`${usual}\` is required.`, usual, 'missing_required_parameter');
  }
  const list = Array.isArray(given) ? given : [given];
  return list.map((each, index) => {
    const field = Array.isArray(given) ? `${name}.${index}` : `${name}`;
    return typeof each === 'string' ? each : mixedInputOf(each, field);
  });
}
