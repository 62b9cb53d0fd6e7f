import type { SamplingParams } from './messages.ts';

/** Buckets per e-fold of probability, and how many e-folds below the likeliest token they cover. */
const BUCKETS_PER_NAT = 64;
const NATS_COVERED = 32;
const NUM_BUCKETS = BUCKETS_PER_NAT * NATS_COVERED;

/**
 * Keeps the tokens that min_p, top_k and top_p allow, in this order (as vLLM), and zeroes the
 * weights of the others.
 *
 * The vocabulary is never sorted: tokens are counted into buckets by log-probability, and only the
 * bucket in which a limit falls is sorted. The result is the same as that of a full sort by
 * descending weight, then ascending id.
 */
export class TokenFilter {
  readonly #bucketOf: Uint16Array;
  readonly #bucketSums = new Float64Array(NUM_BUCKETS);

  constructor(vocabSize: number) {
    this.#bucketOf = new Uint16Array(vocabSize);
  }

  /**
   * @param weights [vocab] unnormalised probabilities, the largest 1; overwritten
   * @returns the sum of the weights that are left
   */
  apply(weights: Float32Array, { minP, topK, topP }: SamplingParams): number {
    if (minP > 0) zeroBelow(weights, minP);
    const limitsCount = topK > 0 && topK < weights.length;
    if (limitsCount || topP < 1) this.#fillBuckets(weights);
    if (limitsCount) this.#keepUntil(weights, topK, () => 1);
    const total = sum(weights);
    if (topP >= 1) return total;
    this.#keepUntil(weights, topP * total, (weight) => weight);
    return sum(weights);
  }

  #fillBuckets(weights: Float32Array): void {
    for (let id = 0; id < weights.length; id++) {
      const bucket = -Math.log(weights[id] ?? 0) * BUCKETS_PER_NAT;
      // The last bucket takes the tail, however long.
      this.#bucketOf[id] = bucket < NUM_BUCKETS ? bucket : NUM_BUCKETS - 1;
    }
  }

  /** Keeps the likeliest tokens up to the one with which the sum of `measure` reaches `limit`. */
  #keepUntil(weights: Float32Array, limit: number, measure: (weight: number) => number): void {
    const sums = this.#bucketSums.fill(0);
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] ?? 0;
      if (weight === 0) continue;
      const bucket = this.#bucketOf[id] ?? 0;
      sums[bucket] = (sums[bucket] ?? 0) + measure(weight);
    }
    let reached = 0;
    let border = 0;
    while (border < NUM_BUCKETS - 1 && reached + (sums[border] ?? 0) < limit) {
      reached += sums[border++] ?? 0;
    }
    const undecided: number[] = [];
    for (let id = 0; id < weights.length; id++) {
      const bucket = this.#bucketOf[id] ?? 0;
      if (bucket > border) weights[id] = 0;
      else if (bucket === border && weights[id] !== 0) undecided.push(id);
    }
    undecided.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
    for (const id of undecided) {
      if (reached >= limit) weights[id] = 0;
      else reached += measure(weights[id] ?? 0);
    }
  }
}

function zeroBelow(weights: Float32Array, threshold: number): void {
  for (let id = 0; id < weights.length; id++) {
    if ((weights[id] ?? 0) < threshold) weights[id] = 0;
  }
}

function sum(weights: Float32Array): number {
  let total = 0;
  for (let id = 0; id < weights.length; id++) total += weights[id] ?? 0;
  return total;
}
