/** Buckets per factor of e: a value is known to half a per cent. */
const RESOLUTION = 100;
/** Below this all values are alike, in milliseconds. */
const SMALLEST = 0.01;
const NUM_BUCKETS = 2400;

/** Latencies by the hundred million, counted in buckets that grow by one per cent. */
export class Histogram {
  readonly #counts = new Float64Array(NUM_BUCKETS);
  #count = 0;
  #lastValue = NaN;
  #lastBucket = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    // All rows of a batch have the same gap between two tokens.
    if (ms !== this.#lastValue) {
      this.#lastValue = ms;
      const bucket = Math.round(Math.log(Math.max(ms, SMALLEST) / SMALLEST) * RESOLUTION);
      this.#lastBucket = Math.min(bucket, NUM_BUCKETS - 1);
    }
    this.#counts[this.#lastBucket] = (this.#counts[this.#lastBucket] ?? 0) + 1;
    this.#count++;
  }

  /** The value that `percentage` per cent of the values do not exceed; NaN of no values. */
  percentile(percentage: number): number {
    const rank = Math.max(1, Math.ceil((this.#count * percentage) / 100));
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= rank) return valueOf(bucket);
    }
    return NaN;
  }

  /** Points (milliseconds, share of values up to there) of the cumulative distribution. */
  cumulative(): { readonly ms: number; readonly share: number }[] {
    let seen = 0;
    return [...this.#counts].flatMap((count, bucket) => {
      seen += count;
      return count > 0 ? [{ ms: valueOf(bucket), share: seen / this.#count }] : [];
    });
  }
}

function valueOf(bucket: number): number {
  return SMALLEST * Math.exp(bucket / RESOLUTION);
}
