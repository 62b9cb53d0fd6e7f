/** Requests and answers of REST: JSON, perhaps followed by the raw bytes of tensors. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { merged } from '../http/json-pieces.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import type { InferRequest, InferResponse, Parameters } from './infer-request.ts';
import { numberPieces, packNumbers, requireJsonForm } from './number-data.ts';
import { fromRaw, rawLength } from './raw-tensor.ts';
import {
  badTensor,
  countElements,
  requireBytesCount,
  requireCount,
  requireDatatype,
  type Tensor,
} from './tensor.ts';
import { textPieces } from './text-pieces.ts';

const parameters = z
  .custom<Parameters>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      Object.keys(value).length <= LIMITS.tensorParameters &&
      Object.values(value).every((item) => ['string', 'number', 'boolean'].includes(typeof item)),
    { error: `expected at most ${LIMITS.tensorParameters} texts, numbers and truth values` },
  )
  .nullish();

export const tensorInput = z.looseObject({
  name: shortText,
  shape: boundedList(z.int(), LIMITS.tensorDimensions),
  datatype: shortText,
  parameters,
  /** Flat, or nested as the shape is. */
  data: z.custom<unknown[]>(Array.isArray, { error: 'expected a list' }).nullish(),
});

export const tensorOutput = z.looseObject({ name: shortText, parameters });

export const inferBody = z.looseObject({
  id: shortText.nullish(),
  parameters,
  inputs: boundedList(tensorInput, LIMITS.tensors),
  outputs: boundedList(tensorOutput, LIMITS.tensors).nullish(),
});

type InputBody = z.infer<typeof tensorInput>;

/** @param tail what follows the JSON. @throws ApiError 400 */
export function parseInferRequest(
  json: unknown,
  tail: Uint8Array,
  { model, version }: Pick<InferRequest, 'model' | 'version'>,
): InferRequest {
  const body = parseWith(inferBody, json);
  let at = 0;
  const inputs = body.inputs.map((described) => {
    const size = described.parameters?.['binary_data_size'];
    if (size === undefined) return fromJson(described);
    const { name } = described;
    const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
    if (!isSize || at + size > tail.length) {
      throw badTensor(name, '`binary_data_size` is more than the bytes that there are');
    }
    const raw = tail.subarray(at, at + size);
    at += size;
    return fromRaw(name, requireDatatype(described.datatype, name), described.shape, raw);
  });
  if (at < tail.length) throw badRequest(`${tail.length - at} bytes belong to no input.`, 'inputs');
  return {
    model,
    version,
    id: body.id ?? '',
    parameters: body.parameters ?? {},
    inputs,
    outputs: (body.outputs ?? []).map((wanted) => ({
      name: wanted.name,
      parameters: wanted.parameters ?? {},
    })),
  };
}

/** An answer that is written piece by piece. */
export interface InferBody {
  /** JSON, put together. */
  readonly json: Iterable<string>;
  /** Elements that the JSON has. */
  readonly numElements: number;
  /** Tensors whose raw bytes follow, in order; if there are none, the answer is JSON alone. */
  readonly raw: readonly Tensor[];
}

/**
 * Outputs go as raw bytes where the request wants that.
 * @throws ApiError 400 for what can't be told as JSON, or is too much for it
 */
export function writeInferResponse(response: InferResponse, request: InferRequest): InferBody {
  const { outputs } = response;
  const isRaw = (tensor: Tensor): boolean => wantsRaw(request, tensor.name);
  const told = outputs.filter((tensor) => !isRaw(tensor));
  for (const { name, datatype } of told) {
    if (datatype !== 'BYTES') requireJsonForm(name, datatype);
  }
  const numElements = told.reduce((sum, { name, shape }) => sum + countElements(shape, name), 0);
  if (numElements > LIMITS.tensorJsonElements) {
    const message = `The outputs have ${numElements} elements; as JSON, ${LIMITS.tensorJsonElements} are the most. Please ask for \`binary_data\`.`;
    throw badRequest(message, 'outputs', 'output_too_large');
  }
  return { json: merged(jsonPieces(response, isRaw)), numElements, raw: outputs.filter(isRaw) };
}

function* jsonPieces(
  { model, version, id, outputs }: InferResponse,
  isRaw: (tensor: Tensor) => boolean,
): Generator<string, void> {
  const head = { ...(id === '' ? {} : { id }), model_name: model, model_version: version };
  yield `${JSON.stringify(head).slice(0, -1)},"outputs":[`;
  for (const [index, tensor] of outputs.entries()) {
    const { name, datatype, shape } = tensor;
    if (index > 0) yield ',';
    if (isRaw(tensor)) {
      const size = { binary_data_size: rawLength(tensor) };
      yield JSON.stringify({ name, datatype, shape, parameters: size });
      continue;
    }
    yield `${JSON.stringify({ name, datatype, shape }).slice(0, -1)},"data":[`;
    if (tensor.datatype === 'BYTES') yield* textPieces(tensor.data);
    else yield* numberPieces(name, tensor.datatype, tensor.data);
    yield ']}';
  }
  yield ']}';
}

function wantsRaw({ parameters: ofRequest, outputs }: InferRequest, name: string): boolean {
  const wanted = outputs.find((requested) => requested.name === name);
  return (wanted?.parameters['binary_data'] ?? ofRequest['binary_data_output']) === true;
}

function fromJson({ name, datatype: type, shape, data }: InputBody): Tensor {
  if (data === undefined || data === null) throw badTensor(name, 'it has no data');
  const datatype = requireDatatype(type, name);
  // However deep: JSON's own limits bound both levels and values.
  const values: unknown[] = data.flat(Infinity);
  requireCount(values.length, shape, name);
  if (datatype !== 'BYTES') {
    return { name, datatype, shape, data: packNumbers(name, datatype, values) };
  }
  requireBytesCount(values.length, name);
  const texts = values.map((value) => {
    if (typeof value === 'string') return Buffer.from(value);
    throw badTensor(name, 'its elements must be strings');
  });
  return { name, datatype, shape, data: texts };
}
