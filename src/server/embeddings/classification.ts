/** Labels of texts, as vLLM (/classify) and text-embeddings-inference (/predict) have them. */
import { z } from 'zod';
import type { Caller } from '../../front/caller.ts';
import {
  type ClassifierInput,
  type Embeddings,
  type EmbedOptions,
  EncoderInputError,
  requireOutputRoom,
} from '../../front/embedding/embed-request.ts';
import { activated, changedInTurns } from '../../front/embedding/vectors.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { createId } from '../ids.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Answer } from './answer.ts';
import { bytesOfVectors, joined, toJson, usageOf } from './answers.ts';
import { common, parseInputs, truncateTokens } from './bodies.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';

export const classifySchema = z.looseObject({
  ...common,
  input: z.unknown(),
  truncate_prompt_tokens: truncateTokens,
  /** Probabilities; the logits themselves with false. */
  use_activation: z.boolean().nullish(),
});

/** vLLM's /classify. */
export const classify: Answer = async (runtime, json, caller, c) => {
  const { input, ...body } = parseWith(classifySchema, json);
  const inputs = parseInputs(input, 'input');
  const truncate = typeof body.truncate_prompt_tokens === 'number';
  const options = { truncate, priority: body.priority ?? 0 };
  const isActivated = body.use_activation !== false;
  const made = await classified(runtime, inputs, options, caller, isActivated);
  holdAnswer(c, { numBytes: bytesOfVectors(made) });
  const created = Math.floor(Date.now() / 1000);
  const head = { id: createId('classify-'), object: 'list', created, model: runtime.model.id };
  return await sendJsonPieces(c, classifyAnswer(head, made));
};

export function* classifyAnswer(
  head: object,
  { vectors: probs, labels: names, numTokens }: Classified,
): Generator<string, void> {
  yield `${JSON.stringify(head).slice(0, -1)},"data":[`;
  yield* joined(probs, (row, index) => {
    const label = JSON.stringify(names[placeOfLargest(row)]);
    return `{"index":${index},"label":${label},"probs":${toJson(row)},"num_classes":${row.length}}`;
  });
  yield `],"usage":${JSON.stringify(usageOf(numTokens))}}`;
}

const text = z.string();
const sequence = z.union([text, z.tuple([text]), z.tuple([text, text])]);

export const teiPredictSchema = z.looseObject({
  inputs: z.unknown(),
  raw_scores: z.boolean().nullish(),
  truncate: z.boolean().nullish(),
});

/** TEI's /predict: the labels of a text or of two that are read together, or of a list of these. */
export const teiPredict: Answer = async (runtime, json, caller, c) => {
  const body = parseWith(teiPredictSchema, json);
  const { inputs, isOne } = parseSequences(body.inputs);
  const options = { truncate: body.truncate ?? false };
  const made = await classified(runtime, inputs, options, caller, body.raw_scores !== true);
  holdAnswer(c, { numBytes: bytesOfVectors(made) });
  return await sendJsonPieces(c, predictAnswer(made, isOne));
};

/** @param isOne whether the request is a single text, whose answer is no list of lists */
export function* predictAnswer(
  { vectors: scores, labels: names }: Pick<Classified, 'vectors' | 'labels'>,
  isOne: boolean,
): Generator<string, void> {
  const written = names.map((name) => JSON.stringify(name));
  if (!isOne) yield '[';
  yield* joined(scores, (row) => {
    const places = Array.from(row, (_score, index) => index);
    places.sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0));
    const entries = places.map(
      (at) => `{"score":${JSON.stringify(row[at])},"label":${written[at]}}`,
    );
    return `[${entries.join(',')}]`;
  });
  if (!isOne) yield ']';
}

/** A list of texts is one sequence, as TEI takes it; a list of lists is several. */
function parseSequences(given: unknown) {
  const isMany = Array.isArray(given) && given.some(Array.isArray);
  const list: readonly unknown[] = isMany ? given : [given];
  if (list.length > LIMITS.encoderTexts) {
    throw badRequest(
      `\`inputs\`: expected a list of at most ${LIMITS.encoderTexts} items`,
      'inputs',
      'invalid_value',
    );
  }
  const inputs = list.map((each): ClassifierInput => {
    const { data } = sequence.safeParse(each);
    if (data === undefined) {
      throw badRequest(
        '`inputs`: expected a text, a list of one or two texts, or a list of such lists.',
        'inputs',
        'invalid_value',
      );
    }
    if (typeof data === 'string') return data;
    return data[1] === undefined ? data[0] : [data[0], data[1]];
  });
  return { inputs, isOne: !isMany };
}

interface Classified extends Pick<Embeddings, 'numTokens'> {
  /** Each input's probabilities, or logits. */
  readonly vectors: readonly Float32Array[];
  /** In their order. */
  readonly labels: readonly string[];
}

/**
 * @param isActivated for probabilities in place of logits
 * @throws EncoderInputError for a model without labels, or too many of them for one answer; as
 *   TextEncoder.classify
 */
export async function classified(
  { encoder }: EmbeddingRuntime,
  inputs: readonly ClassifierInput[],
  options: Pick<EmbedOptions, 'truncate' | 'priority'>,
  caller: Caller,
  isActivated: boolean,
): Promise<Classified> {
  const { labels } = encoder;
  if (labels === null) {
    throw new EncoderInputError(
      'the model has no labels to classify texts with: that takes one with a head for sequence classification',
    );
  }
  requireOutputRoom(inputs.length * labels.names.length);
  const { vectors: logits, numTokens } = await encoder.classify(inputs, options, caller);
  const { activation } = labels;
  const vectors = isActivated
    ? await changedInTurns(logits, (row) => activated(row, activation))
    : logits;
  return { vectors, labels: labels.names, numTokens };
}

function placeOfLargest(row: Float32Array): number {
  return row.reduce((best, value, at) => (value > (row[best] ?? -Infinity) ? at : best), 0);
}
