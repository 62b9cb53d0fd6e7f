import type { TensorValue } from '../../encoder/tensors/tensor.ts';

/** The first dimensions of a vector, of length 1 again: what Matryoshka models are trained for. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  return normalized(vector.subarray(0, dimensions));
}

/** The same direction with length 1. */
export function normalized(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector.slice() : vector.map((value) => value / length);
}

/** A vector of its own memory: what arrives in a message shares that of all others. */
export function ownVector(data: TensorValue['data'] | undefined): Float32Array {
  if (!(data instanceof Float32Array)) throw new Error('the encoder made no floats');
  return data.slice();
}

export function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
