import { uniform } from '../../../src/engine/sampling/philox.ts';

/** Repeatable random draws, by seed. */
export class Draws {
  readonly #seed: bigint;
  #count = 0;

  constructor(seed: number) {
    this.#seed = BigInt(seed);
  }

  uniform(): number {
    return uniform(this.#seed, this.#count++);
  }

  integer(below: number): number {
    return Math.floor(this.uniform() * below);
  }

  /** Standard normal, by Box and Muller. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Lognormal with the given median, cut to [min, max] and rounded. */
  lognormal(median: number, sigma: number, min: number, max: number): number {
    return Math.round(Math.min(max, Math.max(min, median * Math.exp(sigma * this.normal()))));
  }

  /** Time to the next arrival of a Poisson process. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform());
  }

  tokenIds(length: number, vocabSize = 49_152): Int32Array {
    return Int32Array.from({ length }, () => this.integer(vocabSize));
  }
}

/** The value below which a share of the values is (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
