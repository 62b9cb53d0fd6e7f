/**
 * Labels that a request brings along, for texts by a classifier of natural language inference, for an image by
 * a model that embeds both: in the form of Hugging Face's Inference API, whose client can be given any address,
 * with the numbers of Transformers' pipelines.
 */
import { z } from 'zod';
import { type Embeddings, EncoderInputError } from '../../front/embedding/embed-request.ts';
import { activated } from '../../front/embedding/vectors.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Answer } from './answer.ts';
import { bytesOfVectors } from './answers.ts';
import { gathered, listJson } from './pieces.ts';
import { imageLabelScores } from './zero-shot-images.ts';

/** After `/models/load` and the like. */
export const ZERO_SHOT_PATH = '/models/:model{.+}';

const HOLE = '{}';
const label = shortText.refine((each) => each.trim() !== '', {
  error: 'a label must not be empty',
});

function listOf<Item extends z.ZodType>(item: Item, what: string) {
  return boundedList(item, LIMITS.encoderTexts).refine((list) => list.length > 0, {
    error: `expected at least one ${what}`,
  });
}

export const zeroShotSchema = z.looseObject({
  inputs: z.union([z.string(), listOf(z.string(), 'text')], {
    error: `expected an image, a text or a list of up to ${LIMITS.encoderTexts} texts`,
  }),
  parameters: z.looseObject({
    /** Or a text with commas between them. */
    candidate_labels: z.union(
      [
        shortText
          .transform((list) => list.split(',').map((each) => each.trim()))
          .pipe(z.array(label)),
        listOf(label, 'label'),
      ],
      { error: `expected a list of up to ${LIMITS.encoderTexts} short labels` },
    ),
    /** With one `{}` for a label. */
    hypothesis_template: shortText
      .refine((text) => text.replace(HOLE, '').search(/[{}]/) < 0 && text.includes(HOLE), {
        error: 'expected a text with one {} for a label, and no other braces',
      })
      .nullish(),
    multi_label: z.boolean().nullish(),
  }),
});

export const zeroShot: Answer = async (runtime, json, caller, c, reader) => {
  const { encoder, images = null } = runtime;
  const { inputs, parameters } = parseWith(zeroShotSchema, json);
  const { candidate_labels: labels, hypothesis_template: template, multi_label } = parameters;
  const sentences = (usual: string) =>
    labels.map((each) => (template ?? usual).replace(HOLE, () => each));
  if (images !== null) {
    const given = { image: inputs, texts: sentences('This is a photo of {}.') };
    const scores = await imageLabelScores(runtime, images, given, caller, reader);
    return await sendJsonPieces(c, labelsJson(labels, scores));
  }
  const texts = typeof inputs === 'string' ? [inputs] : inputs;
  requireFewPairs(texts.length, labels.length);
  const places = placesOf(encoder.labels?.names ?? null);
  const hypotheses = sentences('This example is {}.');
  const pairs = texts.flatMap((text) => hypotheses.map((each) => [text, each] as const));
  // A label is never cut.
  const logits = await encoder.classify(pairs, { truncate: 'first' }, caller);
  holdAnswer(c, { numBytes: bytesOfVectors(logits) });
  const isAlone = multi_label === true || labels.length === 1;
  const written = texts.map((_text, at) => {
    const rows = logits.vectors.slice(at * labels.length, (at + 1) * labels.length);
    return labelsJson(labels, zeroShotScores(rows, places, isAlone));
  });
  const [only] = written;
  const isOne = typeof inputs === 'string' && only !== undefined;
  return await sendJsonPieces(c, gathered(isOne ? only : listJson(written)));
};

/** @throws ApiError 400 */
function requireFewPairs(numTexts: number, numLabels: number): void {
  const count = numTexts * numLabels;
  if (count <= LIMITS.encoderTexts) return;
  const message = `\`parameters.candidate_labels\`: ${numTexts} texts with ${numLabels} labels are ${count} pairs; ${LIMITS.encoderTexts} are the most.`;
  throw badRequest(message, 'parameters.candidate_labels', 'invalid_value');
}

/** Which logits say that a text implies another, and that it contradicts it. */
export interface InferencePlaces {
  readonly entailment: number;
  readonly contradiction: number;
}

/** @param names of the model's labels; null without @throws EncoderInputError */
function placesOf(names: readonly string[] | null): InferencePlaces {
  const entailment = names?.findIndex((name) => name.toLowerCase().startsWith('entail')) ?? -1;
  if (names === null || names.length < 2 || entailment < 0) {
    throw new EncoderInputError(
      'the model is no classifier of natural language inference: it has no label that begins with `entail`',
    );
  }
  return { entailment, contradiction: entailment === 0 ? names.length - 1 : 0 };
}

/**
 * @param logits of each label's pair
 * @param isAlone whether each label is likely or not by itself, and not in place of the others
 */
export function zeroShotScores(
  logits: Embeddings['vectors'],
  { entailment, contradiction }: InferencePlaces,
  isAlone: boolean,
): number[] {
  const implied = logits.map((row) => row[entailment] ?? 0);
  if (!isAlone) return activated(implied, 'softmax');
  return logits.map((row, at) => {
    const [, score = 0] = activated([row[contradiction] ?? 0, implied[at] ?? 0], 'softmax');
    return score;
  });
}

/** The labels of a text, the likeliest first. */
function* labelsJson(
  labels: readonly string[],
  scores: readonly number[],
): Generator<string, void> {
  const told = labels.map((each, at) => ({ label: each, score: scores[at] ?? 0 }));
  told.sort((a, b) => b.score - a.score);
  yield JSON.stringify(told);
}
