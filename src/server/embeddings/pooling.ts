/** Vectors of tokens, as vLLM (/pooling) and text-embeddings-inference (/embed_all) have them. */
import { z } from 'zod';
import { normalized } from '../../front/embedding/vectors.ts';
import { badRequest } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { createId } from '../ids.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Answer } from './answer.ts';
import { bytesOfVectors, toBase64, toJson, usageOf } from './answers.ts';
import { common, parseInputs, teiEmbedSchema, truncateTokens } from './bodies.ts';
import { classified } from './classification.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';
import { gathered, listJson } from './pieces.ts';

const TASKS = ['embed', 'classify', 'token_embed'] as const;
type Task = (typeof TASKS)[number];

export const poolingSchema = z.looseObject({
  ...common,
  input: z.unknown(),
  task: z.enum(TASKS).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
  truncate_prompt_tokens: truncateTokens,
  /** Vectors of tokens have length 1, and labels probabilities, unless it is false. */
  use_activation: z.boolean().nullish(),
});

/** vLLM's /pooling: without a task, the first of token_embed, classify and embed that the model can do. */
export const pooling: Answer = async (runtime, json, caller, c) => {
  const { input, ...body } = parseWith(poolingSchema, json);
  const { encoder, model } = runtime;
  const inputs = parseInputs(input, 'input');
  const truncate = typeof body.truncate_prompt_tokens === 'number';
  const options = { truncate, priority: body.priority ?? 0 };
  const id = createId('pool-');
  const task = body.task ?? usualTask(runtime);
  if (task === 'token_embed') {
    if (body.encoding_format === 'base64') {
      const message = '`encoding_format`: vectors of tokens are written as numbers alone.';
      throw badRequest(message, 'encoding_format', 'unsupported_parameter');
    }
    const made = await encoder.embedTokens(inputs, options, caller);
    holdAnswer(c, { numBytes: bytesOfVectors(made) });
    const isUnit = body.use_activation !== false;
    const written = made.vectors.map((matrix) => matrixJson(matrix, made.width, isUnit));
    return await sendJsonPieces(c, poolingAnswer({ id, model: model.id }, written, made.numTokens));
  }
  const made =
    task === 'classify'
      ? await classified(runtime, inputs, options, caller, body.use_activation !== false)
      : await encoder.embed(inputs, { ...options, dimensions: body.dimensions ?? null }, caller);
  holdAnswer(c, { numBytes: bytesOfVectors(made) });
  const write = body.encoding_format === 'base64' ? toBase64 : toJson;
  const written = made.vectors.map((vector) => once(() => write(vector)));
  return await sendJsonPieces(c, poolingAnswer({ id, model: model.id }, written, made.numTokens));
};

export const teiEmbedAllSchema = teiEmbedSchema.omit({ dimensions: true });

/** TEI's /embed_all: the vectors of each text's tokens, as the model has them. */
export const teiEmbedAll: Answer = async ({ encoder }, json, caller, c) => {
  const { inputs, prompt_name: promptName = null, truncate } = parseWith(teiEmbedAllSchema, json);
  const options = { promptName, truncate: truncate ?? false };
  const made = await encoder.embedTokens(parseInputs(inputs, 'inputs'), options, caller);
  holdAnswer(c, { numBytes: bytesOfVectors(made) });
  const written = made.vectors.map((matrix) => matrixJson(matrix, made.width, false));
  return await sendJsonPieces(c, gathered(listJson(written)));
};

function usualTask({ encoder }: EmbeddingRuntime): Task {
  if (encoder.labels !== null) return 'classify';
  return encoder.givesTokens ? 'token_embed' : 'embed';
}

/** @param written each text's numbers */
export function* poolingAnswer(
  head: { readonly id: string; readonly model: string },
  written: readonly Iterable<string>[],
  numTokens: number,
): Generator<string, void> {
  const created = Math.floor(Date.now() / 1000);
  const start = JSON.stringify({ id: head.id, object: 'list', created, model: head.model });
  yield `${start.slice(0, -1)},"data":`;
  yield* gathered(listJson(written.map((pieces, index) => itemJson(index, pieces))));
  yield `,"usage":${JSON.stringify(usageOf(numTokens))}}`;
}

function* itemJson(index: number, pieces: Iterable<string>): Generator<string, void> {
  yield `{"index":${index},"object":"pooling","data":`;
  yield* pieces;
  yield '}';
}

/** A list for each token. */
export function* matrixJson(
  matrix: Float32Array,
  width: number,
  isUnit: boolean,
): Generator<string, void> {
  yield '[';
  for (let start = 0; start < matrix.length; start += width) {
    const row = matrix.subarray(start, start + width);
    yield `${start === 0 ? '' : ','}${toJson(isUnit ? normalized(row) : row)}`;
  }
  yield ']';
}

function* once(write: () => string): Generator<string, void> {
  yield write();
}
