/** Weights of words, as text-embeddings-inference (/embed_sparse) has them. */
import type { SparseVector } from '../../front/embedding/embed-request.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Answer } from './answer.ts';
import { parseInputs, teiEmbedSchema } from './bodies.ts';
import { gathered, listJson } from './pieces.ts';

export const teiEmbedSparseSchema = teiEmbedSchema.omit({ dimensions: true, normalize: true });

export const teiEmbedSparse: Answer = async ({ encoder }, json, caller, c) => {
  const {
    inputs,
    prompt_name: promptName = null,
    truncate,
  } = parseWith(teiEmbedSparseSchema, json);
  const options = { promptName, truncate: truncate ?? false };
  const { vectors } = await encoder.embedSparse(parseInputs(inputs, 'inputs'), options, caller);
  const numBytes = vectors.reduce(
    (sum, { ids, weights }) => sum + ids.byteLength + weights.byteLength,
    0,
  );
  holdAnswer(c, { numBytes });
  return await sendJsonPieces(c, gathered(listJson(vectors.map(sparseJson))));
};

/** The words of a text, by their ids. */
export function* sparseJson({ ids, weights }: SparseVector): Generator<string, void> {
  yield '[';
  for (const [at, id] of ids.entries()) {
    yield `${at === 0 ? '' : ','}{"index":${id},"value":${JSON.stringify(weights[at] ?? 0)}}`;
  }
  yield ']';
}
