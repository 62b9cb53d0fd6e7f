/** Requests and answers of REST: JSON, perhaps followed by the raw bytes of tensors. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { boundedList, shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import type { InferRequest, InferResponse, Parameters } from './infer-request.ts';
import { packNumbers, unpackNumbers } from './number-data.ts';
import { fromRaw, toRaw } from './raw-tensor.ts';
import {
  badTensor,
  requireBytesCount,
  requireCount,
  requireDatatype,
  type Tensor,
} from './tensor.ts';

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

export interface InferBody {
  readonly json: string;
  /** Raw tensors, in order; null if there are none, and the answer is JSON alone. */
  readonly tail: Uint8Array | null;
}

/** Outputs go as raw bytes where the request wants that. */
export function writeInferResponse(
  { model, version, id, outputs }: InferResponse,
  request: InferRequest,
): InferBody {
  const raw: Uint8Array[] = [];
  const described = outputs.map((tensor): JsonObject => {
    const { name, datatype, shape } = tensor;
    if (!wantsRaw(request, name)) return { name, datatype, shape, data: toJson(tensor) };
    const bytes = toRaw(tensor);
    raw.push(bytes);
    return { name, datatype, shape, parameters: { binary_data_size: bytes.length } };
  });
  const json = JSON.stringify({
    ...(id === '' ? {} : { id }),
    model_name: model,
    model_version: version,
    outputs: described,
  });
  return { json, tail: raw.length === 0 ? null : Buffer.concat(raw) };
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

function toJson({ name, datatype, data }: Tensor): unknown[] {
  if (datatype === 'BYTES') return data.map((bytes) => Buffer.from(bytes).toString('utf8'));
  return unpackNumbers(name, datatype, data).map((value) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
}
