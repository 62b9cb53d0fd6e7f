/** Requests of tensors whose input is the files of images. */
import type { Caller } from '../../front/caller.ts';
import { LIMITS } from '../../limits.ts';
import type { TensorRuntime } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import type { InferRequest } from './infer-request.ts';
import { priorityOf, timeoutMsOf } from './request-parameters.ts';
import { badTensor, type BytesTensor, requireCount, type Tensor } from './tensor.ts';

type Classifier = NonNullable<TensorRuntime['classifier']>;

/** Outputs of a model that takes images. */
export const IMAGE_OUTPUTS = [
  { name: 'label', datatype: 'BYTES', shape: [-1, -1] },
  { name: 'score', datatype: 'FP32', shape: [-1, -1] },
] as const;

/** The files, if that is what the request has; null for tensors as the graph takes them. */
export function imagesOf({ inputs }: InferRequest, { input }: Classifier): BytesTensor | null {
  const [first, second] = inputs;
  const isImages = first?.datatype === 'BYTES' && first.name === input && second === undefined;
  return isImages ? first : null;
}

/** Labels and scores, a row for each image. @throws ApiError 400; as ImageClassifier.classify */
export async function inferImages(
  classifier: Classifier,
  request: InferRequest,
  { name, shape, data: files }: BytesTensor,
  caller: Caller,
): Promise<Tensor[]> {
  requireCount(files.length, shape, name);
  if (files.length < 1 || files.length > LIMITS.images) {
    throw badTensor(name, `expected 1 to ${LIMITS.images} images, found ${files.length}`);
  }
  const wanted = request.outputs.map((output) => output.name);
  const unknown = wanted.find((output) => IMAGE_OUTPUTS.every((known) => known.name !== output));
  if (unknown !== undefined) {
    throw badTensor(unknown, 'for images there are the outputs label and score');
  }
  const options = {
    topK: topKOf(request),
    priority: priorityOf(request),
    timeoutMs: timeoutMsOf(request),
  };
  const all = await Promise.all(files.map((file) => classifier.classify(file, options, caller)));
  const rows = [files.length, all[0]?.length ?? 0];
  const scores = Float32Array.from(all.flat(), (each) => each.score);
  const made: Tensor[] = [
    {
      name: 'label',
      datatype: 'BYTES',
      shape: rows,
      data: all.flat().map(({ label }) => Buffer.from(label)),
    },
    { name: 'score', datatype: 'FP32', shape: rows, data: new Uint8Array(scores.buffer) },
  ];
  return wanted.length === 0 ? made : made.filter((each) => wanted.includes(each.name));
}

/** Null for the model's own number. @throws ApiError 400 */
function topKOf({ parameters: { top_k: topK } }: InferRequest): number | null {
  if (topK === undefined) return null;
  const number = Number(topK);
  if (typeof topK !== 'boolean' && Number.isSafeInteger(number) && number >= 1) return number;
  throw badRequest('`top_k`: expected a whole number from 1 on.', 'top_k', 'invalid_value');
}
