import { setImmediate } from 'node:timers/promises';
import type { LabelActivation } from '../../model/encoder/encoder-labels.ts';
import type { TensorValue } from '../../encoder/tensors/tensor.ts';

/** Numbers that are changed in a turn of the event loop: some tenths of a millisecond. */
const NUMBERS_PER_TURN = 2 ** 16;

/** The first dimensions of a vector, of length 1 again: what Matryoshka models are trained for. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  return normalized(vector.subarray(0, dimensions));
}

/** The same direction with length 1. */
export function normalized(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum) || 1;
  const unit = new Float32Array(vector.length);
  // Ten times as fast as with a function for each number.
  for (let at = 0; at < unit.length; at++) unit[at] = (vector[at] ?? 0) / length;
  return unit;
}

/** Changes vectors one by one; others get their turn of the event loop in between. */
export async function changedInTurns(
  vectors: readonly Float32Array[],
  change: (vector: Float32Array) => Float32Array,
): Promise<Float32Array[]> {
  const changed: Float32Array[] = [];
  let numbers = 0;
  for (const vector of vectors) {
    changed.push(change(vector));
    numbers += vector.length;
    if (numbers < NUMBERS_PER_TURN) continue;
    await setImmediate();
    numbers = 0;
  }
  return changed;
}

/** A vector of its own memory: what arrives in a message shares that of all others. */
export function ownVector(data: TensorValue['data'] | undefined): Float32Array {
  if (!(data instanceof Float32Array)) throw new Error('the encoder made no floats');
  return data.slice();
}

/** A typed array of floats, whose `map` makes another of its type. */
interface Floats<Same> {
  map(change: (value: number) => number): Same;
  reduce(join: (total: number, value: number) => number, first: number): number;
}

/** Logits as probabilities, in numbers of the same type. */
export function activated<Logits extends Floats<Logits>>(
  logits: Logits,
  activation: LabelActivation,
): Logits {
  if (activation === 'identity') return logits;
  if (activation === 'sigmoid') return logits.map(sigmoid);
  const largest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const powers = logits.map((logit) => Math.exp(logit - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

export function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}
