/** The first dimensions of a vector, of length 1 again: what Matryoshka models are trained for. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  const first = vector.slice(0, dimensions);
  const length = Math.hypot(...first);
  return length === 0 ? first : first.map((value) => value / length);
}

/** A vector of its own memory: what arrives in a message shares that of all others. */
export function ownVector(data: ArrayBufferView): Float32Array {
  if (!(data instanceof Float32Array)) throw new Error('the encoder made no floats');
  return data.slice();
}

export function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
