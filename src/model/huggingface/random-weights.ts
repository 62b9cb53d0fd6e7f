import { createHash } from 'node:crypto';

import type { WeightSource } from './weights.ts';

const STANDARD_DEVIATION = 0.02;

/** Standard deviation of the sum of four independent bytes: sqrt(4 * (256^2 - 1) / 12). */
const BYTE_SUM_DEVIATION = 147.801;
const BYTE_SUM_MEAN = 4 * 127.5;

/** Vectors with such a name scale a normalization. */
const NORM_NAME = /norm[^.]*\.weight$/;

/**
 * Weights of a model that was never trained, for benchmarks and tests: bell-shaped around 0 with
 * standard deviation 0.02, and 1 for the weights of normalizations. A value depends on the seed,
 * the tensor's name and its position alone.
 */
export class RandomWeights implements WeightSource {
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const values = new Float32Array(shape.reduce((product, dim) => product * dim, 1));
    if (NORM_NAME.test(name)) {
      return values.fill(1);
    }
    const key = createHash('sha256').update(`${this.#seed}:${name}`).digest();
    fillBellShaped(values, key.readUInt32LE(0), key.readUInt32LE(4));
    return values;
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

/** The sum of four bytes of a hash of the position is near enough to a normal distribution. */
function fillBellShaped(values: Float32Array, key0: number, key1: number): void {
  const scale = STANDARD_DEVIATION / BYTE_SUM_DEVIATION;
  for (let i = 0; i < values.length; i++) {
    let hash = Math.imul(i ^ key0, 0x85eb_ca6b);
    hash = Math.imul(hash ^ (hash >>> 13) ^ key1, 0xc2b2_ae35);
    hash = Math.imul(hash ^ (hash >>> 16), 0x27d4_eb2f);
    hash ^= hash >>> 15;
    const sum = (hash & 0xff) + ((hash >>> 8) & 0xff) + ((hash >>> 16) & 0xff) + (hash >>> 24);
    values[i] = (sum - BYTE_SUM_MEAN) * scale;
  }
}
