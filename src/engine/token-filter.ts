import type { SamplingParams } from './messages.ts';

/** The bits of 1, of which those of a smaller weight are subtracted. */
const BITS_OF_ONE = 0x3f800000;
/** Leaves 64 buckets for every factor of two. */
const BUCKET_SHIFT = 17;
const NUM_BUCKETS = (BITS_OF_ONE >> BUCKET_SHIFT) + 1;
/** Beyond any vocabulary. */
const MAX_ID = 2 ** 21 - 1;
/** The smallest weight above 0. */
const SMALLEST = 2 ** -149;

/**
 * Keeps the tokens that min_p, top_k and top_p allow, in this order (as vLLM). In the order of
 * descending weight, then ascending id, each of them keeps the first few tokens, so that all that it
 * takes is where the strictest cuts.
 *
 * The vocabulary is never sorted: tokens are counted into buckets by the bits of their weights,
 * which are in the order of the weights, and only the bucket in which the cut falls is sorted. The
 * result is the same as that of a full sort.
 */
export class TokenFilter {
  readonly #weights: Float32Array;
  /** The same memory. */
  readonly #bits: Int32Array;
  readonly #buckets = new Float64Array(NUM_BUCKETS);
  /** Bits of weights, each with the token's id behind it. */
  readonly #undecided: Float64Array;
  #leastWeight = 0;
  #lastId = 0;

  /** @param weights [vocab] unnormalised probabilities, the largest 1; filled in before each `apply` */
  constructor(weights: Float32Array<ArrayBuffer>) {
    this.#weights = weights;
    this.#bits = new Int32Array(weights.buffer, weights.byteOffset, weights.length);
    this.#undecided = new Float64Array(weights.length);
  }

  /** Tokens of a smaller weight are not kept; above 0. */
  get leastWeight(): number {
    return this.#leastWeight;
  }

  /** Of the tokens of that very weight, those up to this id are kept. */
  get lastId(): number {
    return this.#lastId;
  }

  /**
   * Finds the cut.
   * @param total sum of the weights
   * @returns the sum of the weights that are kept
   */
  apply(total: number, { minP, topK, topP }: SamplingParams): number {
    this.#leastWeight = Math.max(minP, SMALLEST);
    this.#lastId = MAX_ID;
    const limitsCount = topK > 0 && topK < this.#weights.length;
    if (limitsCount) {
      this.#countIntoBuckets();
      this.#cutAt(topK, true);
    }
    const kept = minP > 0 || limitsCount ? this.#sumKept() : total;
    if (topP >= 1) return kept;
    this.#sumIntoBuckets();
    return this.#cutAt(topP * kept, false);
  }

  #countIntoBuckets(): void {
    const [bits, buckets] = [this.#bits, this.#buckets.fill(0)];
    for (let id = 0; id < bits.length; id++) {
      const bucket = (BITS_OF_ONE - (bits[id] ?? 0)) >> BUCKET_SHIFT;
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
  }

  #sumIntoBuckets(): void {
    const [bits, buckets, weights] = [this.#bits, this.#buckets.fill(0), this.#weights];
    // Four at a time is nearly twice as fast. Behind the end there are zeros to add.
    for (let id = 0; id < bits.length; id += 4) {
      const first = (BITS_OF_ONE - (bits[id] ?? 0)) >> BUCKET_SHIFT;
      const second = (BITS_OF_ONE - (bits[id + 1] ?? 0)) >> BUCKET_SHIFT;
      const third = (BITS_OF_ONE - (bits[id + 2] ?? 0)) >> BUCKET_SHIFT;
      const fourth = (BITS_OF_ONE - (bits[id + 3] ?? 0)) >> BUCKET_SHIFT;
      buckets[first] = (buckets[first] ?? 0) + (weights[id] ?? 0);
      buckets[second] = (buckets[second] ?? 0) + (weights[id + 1] ?? 0);
      buckets[third] = (buckets[third] ?? 0) + (weights[id + 2] ?? 0);
      buckets[fourth] = (buckets[fourth] ?? 0) + (weights[id + 3] ?? 0);
    }
  }

  /**
   * Cuts behind the token with which the number of tokens, or the sum of their weights, reaches
   * `limit`, unless an earlier cut is stricter.
   * @returns what is reached
   */
  #cutAt(limit: number, isCount: boolean): number {
    const buckets = this.#buckets;
    let reached = 0;
    let border = 0;
    while (border < NUM_BUCKETS - 1 && reached + (buckets[border] ?? 0) < limit) {
      reached += buckets[border++] ?? 0;
    }
    const undecided = this.#collect(border);
    // Of ascending numbers the likeliest token is the last.
    undecided.sort();
    for (let index = undecided.length - 1; index >= 0; index--) {
      const id = MAX_ID - ((undecided[index] ?? 0) % (MAX_ID + 1));
      const weight = this.#weights[id] ?? 0;
      const isCut =
        weight < this.#leastWeight || (weight === this.#leastWeight && id > this.#lastId);
      if (isCut) break;
      reached += isCount ? 1 : weight;
      if (reached < limit) continue;
      this.#leastWeight = weight;
      this.#lastId = id;
      break;
    }
    return reached;
  }

  /** The tokens of a bucket. */
  #collect(bucket: number): Float64Array {
    const [bits, undecided] = [this.#bits, this.#undecided];
    const high = BITS_OF_ONE - (bucket << BUCKET_SHIFT);
    // A weight of 0 is no token's.
    const low = Math.max(1, high - (1 << BUCKET_SHIFT) + 1);
    const width = high - low;
    let count = 0;
    // Four at a time: few tokens are in any one bucket. Unsigned, what is below `low` is far above.
    for (let start = 0; start < bits.length; start += 4) {
      const isNear =
        ((bits[start] ?? 0) - low) >>> 0 <= width ||
        ((bits[start + 1] ?? 0) - low) >>> 0 <= width ||
        ((bits[start + 2] ?? 0) - low) >>> 0 <= width ||
        ((bits[start + 3] ?? 0) - low) >>> 0 <= width;
      if (!isNear) continue;
      for (let id = start; id < start + 4; id++) {
        const own = bits[id] ?? 0;
        if (own >= low && own <= high) undecided[count++] = own * (MAX_ID + 1) + MAX_ID - id;
      }
    }
    return undecided.subarray(0, count);
  }

  #sumKept(): number {
    const weights = this.#weights;
    const [leastWeight, lastId] = [this.#leastWeight, this.#lastId];
    let total = 0;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] ?? 0;
      if (weight > leastWeight || (weight === leastWeight && id <= lastId)) total += weight;
    }
    return total;
  }
}
