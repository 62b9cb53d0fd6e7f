import { float32ToFloat16 } from '../huggingface/float-conversion.ts';
import type { LowRankPair } from './low-rank-pair.ts';

const LANES = 16;
const PAIR = 2 * LANES;
/** Size of a slot's ranks, before its numbers. */
const RANKS_BYTES = 64;

/** The name of a linear layer's input of adapters. */
export function adapterPool(layer: string): string {
  return `lora.${layer}`;
}

/** How an adapter of a linear layer lies in a slot: see LowRankShape in native/kernels.h. */
export class LowRankLayout {
  readonly #features: number;
  readonly #columns: readonly number[];
  readonly #paddedRank: number;

  /** @param columns of each part */
  constructor(features: number, columns: readonly number[], maxRank: number) {
    this.#features = features;
    this.#columns = columns;
    this.#paddedRank = Math.ceil(maxRank / LANES) * LANES;
  }

  /** Size of a slot. */
  get numBytes(): number {
    return RANKS_BYTES + 2 * this.#firstUp(this.#columns.length);
  }

  /** @param pairs by part; null for parts that the adapter leaves as they are */
  pack(pairs: readonly (LowRankPair | null)[]): Uint8Array {
    const bytes = new Uint8Array(this.numBytes);
    const ranks = new Int32Array(bytes.buffer, 0, RANKS_BYTES / 4);
    const halves = new Uint16Array(bytes.buffer, RANKS_BYTES);
    for (const [part, pair] of pairs.entries()) {
      if (pair === null) continue;
      ranks[part] = pair.rank;
      this.#place(part, balanced(pair), halves);
    }
    return bytes;
  }

  #firstUp(part: number): number {
    const pairs = this.#columns.slice(0, part).map((count) => Math.ceil(count / PAIR));
    const before = pairs.reduce((sum, count) => sum + count, 0) * PAIR;
    return this.#paddedRank * (this.#columns.length * this.#features + before);
  }

  #place(part: number, { rank, a, b }: Halves, halves: Uint16Array): void {
    const features = this.#features;
    const padded = this.#paddedRank;
    const down = halves.subarray(part * padded * features);
    for (let r = 0; r < rank; r++) {
      const first = (r - (r % LANES)) * features + (r % LANES);
      for (let i = 0; i < features; i++) down[first + i * LANES] = a[r * features + i] ?? 0;
    }
    const up = halves.subarray(this.#firstUp(part));
    const columns = this.#columns[part] ?? 0;
    for (let column = 0; column < columns; column++) {
      const inPair = column % PAIR;
      const first = (column - inPair) * padded + inPair;
      for (let r = 0; r < rank; r++) up[first + r * PAIR] = b[column * rank + r] ?? 0;
    }
  }
}

interface Halves {
  readonly rank: number;
  readonly a: Uint16Array;
  readonly b: Uint16Array;
}

/**
 * As float16, which has few exponents: with a power of two moved from one to the other, A and B are of
 * about the same size, and their product is what it was.
 */
function balanced({ rank, a, b }: LowRankPair): Halves {
  const exponent = Math.round(Math.log2(largest(b) / largest(a)) / 2);
  const factor = Number.isFinite(exponent) ? 2 ** exponent : 1;
  return {
    rank,
    a: float32ToFloat16(a.map((value) => value * factor)),
    b: float32ToFloat16(b.map((value) => value / factor)),
  };
}

function largest(values: Float32Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}
