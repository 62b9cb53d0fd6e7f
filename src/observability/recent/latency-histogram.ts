/** Buckets of each doubling of time: a quantile is at most 5% off. */
const PER_DOUBLING = 8;
/** From a microsecond up to more than an hour. */
const NUM_BUCKETS = 32 * PER_DOUBLING;

/** How often something took how long, in 1 KiB however often that was. */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(NUM_BUCKETS);
  #size = 0;

  /** Times counted. */
  get size(): number {
    return this.#size;
  }

  add(ms: number): void {
    const bucket = Math.floor(Math.log2(ms * 1000) * PER_DOUBLING);
    // Less than a microsecond is none.
    const index = bucket > 0 ? Math.min(bucket, NUM_BUCKETS - 1) : 0;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#size++;
  }

  addAll(other: LatencyHistogram): void {
    for (const [index, count] of other.#counts.entries()) {
      this.#counts[index] = (this.#counts[index] ?? 0) + count;
    }
    this.#size += other.#size;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#size = 0;
  }

  /** Milliseconds that this share of all times does not exceed; NaN of none. */
  quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#size));
    let seen = 0;
    for (const [index, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= rank) return 2 ** ((index + 0.5) / PER_DOUBLING) / 1000;
    }
    return NaN;
  }
}
