/** Messages of the inference service to requests, and answers to messages. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { LIMITS } from '../limits.ts';
import { badRequest } from '../server/errors.ts';
import type {
  InferRequest,
  InferResponse,
  Parameters,
  ParameterValue,
} from '../server/kserve/infer-request.ts';
import { packNumbers } from '../server/kserve/number-data.ts';
import { fromRaw, toRaw } from '../server/kserve/raw-tensor.ts';
import {
  badTensor,
  type Datatype,
  requireBytesCount,
  requireCount,
  requireDatatype,
  type Tensor,
} from '../server/kserve/tensor.ts';
import type {
  InferParameter,
  InferTensorContents,
  ModelInferRequest,
  ModelInferRequest_InferInputTensor as InputMessage,
  ModelInferResponseSchema,
} from './proto/inference_pb.ts';

/** @throws ApiError 400 */
export function toInferRequest(message: ModelInferRequest): InferRequest {
  const { inputs, outputs, rawInputContents: raw, id } = message;
  if (inputs.length > LIMITS.tensors || outputs.length > LIMITS.tensors) {
    throw badRequest(`A request has at most ${LIMITS.tensors} inputs, and as many outputs.`);
  }
  if (id.length > LIMITS.shortTextCharacters) {
    throw badRequest(`\`id\`: expected at most ${LIMITS.shortTextCharacters} characters.`, 'id');
  }
  if (raw.length > 0 && raw.length !== inputs.length) {
    throw badRequest(`There are ${inputs.length} inputs, but raw contents of ${raw.length}.`);
  }
  return {
    model: message.modelName,
    version: message.modelVersion,
    id,
    parameters: toParameters(message.parameters),
    inputs: inputs.map((input, index) => toTensor(input, raw[index])),
    outputs: outputs.map(({ name, parameters }) => ({
      name: requireShort(name),
      parameters: toParameters(parameters),
    })),
  };
}

/** Tensors go as raw bytes, as Triton's do. */
export function toResponseMessage(
  { model, version, id, outputs, isFinal }: InferResponse,
  isStream: boolean,
): MessageInitShape<typeof ModelInferResponseSchema> {
  return {
    modelName: model,
    modelVersion: version,
    id,
    parameters: isStream
      ? { triton_final_response: { parameterChoice: { case: 'boolParam', value: isFinal } } }
      : {},
    outputs: outputs.map(({ name, datatype, shape }) => ({
      name,
      datatype,
      shape: shape.map(BigInt),
    })),
    rawOutputContents: outputs.map((tensor) => new Uint8Array(toRaw(tensor))),
  };
}

function toTensor(
  { name, datatype: type, shape: sizes, contents }: InputMessage,
  raw: Uint8Array | undefined,
): Tensor {
  requireShort(name);
  const datatype = requireDatatype(type, name);
  if (sizes.length > LIMITS.tensorDimensions) {
    throw badTensor(name, `its shape has more than ${LIMITS.tensorDimensions} dimensions`);
  }
  const shape = sizes.map(Number);
  if (raw !== undefined) {
    if (contents !== undefined) throw badTensor(name, 'it has both contents and raw contents');
    return fromRaw(name, datatype, shape, raw);
  }
  if (contents === undefined) throw badTensor(name, 'it has no contents');
  if (datatype === 'BYTES') {
    const data = contents.bytesContents;
    requireBytesCount(data.length, name);
    requireCount(data.length, shape, name);
    return { name, datatype, shape, data };
  }
  const values = valuesOf(contents, datatype, name);
  requireCount(values.length, shape, name);
  return { name, datatype, shape, data: packNumbers(name, datatype, values) };
}

/** Errors name a tensor. @throws ApiError 400 */
function requireShort(name: string): string {
  if (name.length <= LIMITS.shortTextCharacters) return name;
  throw badTensor(name, `its name has more than ${LIMITS.shortTextCharacters} characters`);
}

function valuesOf(
  contents: InferTensorContents,
  datatype: Exclude<Datatype, 'BYTES'>,
  name: string,
): readonly (number | bigint | boolean)[] {
  switch (datatype) {
    case 'BOOL':
      return contents.boolContents;
    case 'INT8':
    case 'INT16':
    case 'INT32':
      return contents.intContents;
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
      return contents.uintContents;
    case 'INT64':
      return contents.int64Contents;
    case 'UINT64':
      return contents.uint64Contents;
    case 'FP32':
      return contents.fp32Contents;
    case 'FP64':
      return contents.fp64Contents;
    case 'FP16':
    case 'BF16':
      throw badTensor(name, `${datatype} can be sent as raw bytes only`);
  }
}

function toParameters(message: Readonly<Record<string, InferParameter>>): Parameters {
  const entries = Object.entries(message);
  if (entries.length > LIMITS.tensorParameters) {
    throw badRequest(`There are more than ${LIMITS.tensorParameters} parameters.`, 'parameters');
  }
  return Object.fromEntries(
    entries.flatMap(([name, { parameterChoice }]): [string, ParameterValue][] =>
      parameterChoice.value === undefined ? [] : [[name, parameterChoice.value]],
    ),
  );
}
