/** Any ONNX model without state, through its own tensors. */
import type { Caller } from '../../front/caller.ts';
import type { ModelKey } from '../../front/registry/model-definition.ts';
import type { GraphSignature, TensorSpec } from '../../encoder/tensors/signature.ts';
import { dataFromBytes, type TensorValue } from '../../encoder/tensors/tensor.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import type { TensorRuntime } from '../runtimes.ts';
import { IMAGE_OUTPUTS, imagesOf, inferImages } from './image-request.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import { type InferenceModel, type InferenceSignature, inOnePiece } from './inference-kind.ts';
import { observed } from './observed.ts';
import { priorityOf, timeoutMsOf } from './request-parameters.ts';
import { requireCount, type Tensor } from './tensor.ts';

export function tensorModel(
  context: ServerContext,
  key: ModelKey,
  { tensors: model, classifier }: Pick<TensorRuntime, 'tensors' | 'classifier'>,
): InferenceModel {
  const computed = async (request: InferRequest, caller: Caller): Promise<Tensor[]> => {
    const files = classifier && imagesOf(request, classifier);
    if (files) return await inferImages(classifier, request, files, caller);
    const { inputs, outputs } = request;
    const options = {
      outputs: outputs.length === 0 ? null : outputs.map(({ name }) => name),
      priority: priorityOf(request),
      timeoutMs: timeoutMsOf(request),
    };
    const made = await model.infer(inputs.map(toValue), options, caller);
    return made.map(toTensor);
  };
  const answer = async (request: InferRequest, caller: Caller): Promise<InferResponse> => ({
    model: key.name,
    version: key.version,
    id: request.id,
    outputs: await computed(request, caller),
    isFinal: true,
  });
  const infer = (request: InferRequest, caller: Caller) =>
    observed(context, key, () => answer(request, caller));
  return {
    key,
    signature: classifier
      ? ofImages(classifier.input)
      : toSignature(model.signature, model.maxBatchSize),
    infer,
    stream: async (request, caller) => inOnePiece(() => infer(request, caller)),
  };
}

function toSignature(
  { inputs, outputs, isBatched }: GraphSignature,
  maxBatchSize: number,
): InferenceSignature {
  return {
    platform: 'onnxruntime_onnx',
    streams: false,
    maxBatchSize: isBatched ? maxBatchSize : 0,
    inputs: inputs.map((spec) => ({ ...toMetadata(spec), isOptional: false })),
    outputs: outputs.map(toMetadata),
  };
}

/** The graph's own tensors are taken, too. */
function ofImages(name: string): InferenceSignature {
  return {
    platform: 'onnxruntime_onnx',
    streams: false,
    maxBatchSize: LIMITS.images,
    inputs: [{ name, datatype: 'BYTES', shape: [-1], isOptional: false }],
    outputs: IMAGE_OUTPUTS,
  };
}

function toMetadata({ name, datatype, shape }: TensorSpec) {
  return { name, datatype, shape: shape.map((size) => (typeof size === 'string' ? -1 : size)) };
}

/** @throws ApiError 400 where data and shape do not fit */
function toValue(tensor: Tensor): TensorValue {
  const { name, shape } = tensor;
  if (tensor.datatype === 'BYTES') {
    requireCount(tensor.data.length, shape, name);
    return { name, shape, datatype: 'BYTES', data: tensor.data };
  }
  const { datatype, data } = tensor;
  // A bool of any other byte is undefined behaviour in compiled code.
  const bytes = datatype === 'BOOL' ? data.map((value) => (value === 0 ? 0 : 1)) : data;
  return { name, shape, datatype, data: dataFromBytes(datatype, bytes) };
}

function toTensor(value: TensorValue): Tensor {
  const { name, shape } = value;
  if (value.datatype === 'BYTES') return { name, shape, datatype: 'BYTES', data: value.data };
  const { buffer, byteOffset, byteLength } = value.data;
  const data = new Uint8Array(buffer, byteOffset, byteLength);
  return { name, shape, datatype: value.datatype, data };
}
