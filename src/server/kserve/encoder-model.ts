/** Text encoders through tensors: texts in, vectors or scores out. */
import type { Caller } from '../../front/caller.ts';
import type { TextEncoder } from '../../front/embedding/embed-request.ts';
import type { ModelKey } from '../../front/registry/model-definition.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import type { EncoderRuntime } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import { type InferenceModel, type InferenceSignature, inOnePiece } from './inference-kind.ts';
import { observed } from './observed.ts';
import { priorityOf } from './request-parameters.ts';
import { badTensor, type Tensor } from './tensor.ts';
import { stringsOf } from './text-request.ts';
import { told } from '../../told.ts';

/** Names of the tensors. */
const TEXT = 'text_input';
const QUERY = 'query';
const DOCUMENT = 'document';
const EMBEDDING = 'embedding';
const SCORE = 'score';

export function encoderModel(
  context: ServerContext,
  key: ModelKey,
  { encoder }: Pick<EncoderRuntime, 'encoder'>,
): InferenceModel {
  const answer = encoder.kind === 'embedding' ? embedTexts : scorePairs;
  const infer = (request: InferRequest, caller: Caller) =>
    observed(context, key, () => answer(key, encoder, request, caller));
  return {
    key,
    signature: encoder.kind === 'embedding' ? embeddingSignature(encoder.dim) : SCORING,
    infer,
    stream: async (request, caller) => inOnePiece(() => infer(request, caller)),
  };
}

function embeddingSignature(dim: number): InferenceSignature {
  return {
    platform: 'chairlift_text_embedding',
    streams: false,
    maxBatchSize: 0,
    inputs: [{ name: TEXT, datatype: 'BYTES', shape: [-1], isOptional: false }],
    outputs: [{ name: EMBEDDING, datatype: 'FP32', shape: [-1, dim] }],
  };
}

const SCORING: InferenceSignature = {
  platform: 'chairlift_text_scoring',
  streams: false,
  maxBatchSize: 0,
  inputs: [
    { name: QUERY, datatype: 'BYTES', shape: [-1], isOptional: false },
    { name: DOCUMENT, datatype: 'BYTES', shape: [-1], isOptional: false },
  ],
  outputs: [{ name: SCORE, datatype: 'FP32', shape: [-1] }],
};

/**
 * A vector for each text of `text_input`. Parameters are `prompt_name`, `dimensions`, `truncate`.
 * @throws ApiError 400; as TextEncoder.embed
 */
export async function embedTexts(
  key: ModelKey,
  encoder: Pick<TextEncoder, 'embed'>,
  request: InferRequest,
  caller: Caller,
): Promise<InferResponse> {
  const [texts = []] = textsOf(request, [TEXT], EMBEDDING);
  const { prompt_name: promptName, dimensions, truncate } = request.parameters;
  const options = {
    promptName: typeof promptName === 'string' ? promptName : null,
    dimensions: dimensions === undefined ? null : Number(dimensions),
    truncate: truncate === true,
    priority: priorityOf(request),
  };
  const { vectors } = await encoder.embed(texts, options, caller);
  const dim = vectors[0]?.length ?? 0;
  const data = new Float32Array(vectors.length * dim);
  for (const [row, vector] of vectors.entries()) data.set(vector, row * dim);
  return toResponse(key, request, EMBEDDING, [vectors.length, dim], data);
}

/** A score for each document, with the query at its place, or with the only one. */
async function scorePairs(
  key: ModelKey,
  encoder: Pick<TextEncoder, 'score'>,
  request: InferRequest,
  caller: Caller,
): Promise<InferResponse> {
  const [queries = [], documents = []] = textsOf(request, [QUERY, DOCUMENT], SCORE);
  if (queries.length !== 1 && queries.length !== documents.length) {
    throw badTensor(QUERY, `expected one query, or one for each of ${documents.length} documents`);
  }
  const [only = ''] = queries;
  const pairs = documents.map((each, index) => [queries[index] ?? only, each] as const);
  const { scores } = await encoder.score(pairs, { priority: priorityOf(request) }, caller);
  return toResponse(key, request, SCORE, [scores.length], scores);
}

/** @throws ApiError 400 for other tensors than these, or none of them */
function textsOf(
  { inputs, outputs }: InferRequest,
  names: readonly string[],
  output: string,
): readonly string[][] {
  const unknown = inputs.find(({ name }) => !names.includes(name));
  if (unknown) throw badTensor(unknown.name, 'the model has no such input');
  if (inputs.length > names.length) throw badRequest('Two inputs have the same name.', 'inputs');
  const other = outputs.find(({ name }) => name !== output);
  if (other) {
    const name = told(other.name, 64);
    throw badRequest(`The model has no output \`${name}\`.`, 'outputs', 'invalid_value');
  }
  return names.map((name) => {
    const tensor = inputs.find((input) => input.name === name);
    if (!tensor) {
      throw badRequest(`\`${name}\` is required.`, name, 'missing_required_parameter');
    }
    return boundedTexts(tensor);
  });
}

function boundedTexts(tensor: Tensor): string[] {
  const { length } = tensor.data;
  if (tensor.datatype === 'BYTES' && length > LIMITS.encoderTexts) {
    throw badTensor(
      tensor.name,
      `it holds ${length} texts; a request has ${LIMITS.encoderTexts} at most`,
    );
  }
  const texts = stringsOf(tensor);
  if (texts.length === 0) throw badTensor(tensor.name, 'it holds no text');
  return texts;
}

function toResponse(
  { name: model, version }: ModelKey,
  { id }: InferRequest,
  name: string,
  shape: readonly number[],
  values: Float32Array,
): InferResponse {
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const outputs = [{ name, datatype: 'FP32' as const, shape, data }];
  return { model, version, id, outputs, isFinal: true };
}
