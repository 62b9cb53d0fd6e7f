/** Beyond any vocabulary: what the bits of a logit leave of a double's 53. */
const MAX_TOKENS = 2 ** 21;
const BUCKETS_PER_HALVING = 128;
/** A weight below 2 to the minus this is negligible. */
const MAX_HALVINGS = 48;
const NUM_BUCKETS = BUCKETS_PER_HALVING * MAX_HALVINGS;
const BUCKET_NATS = Math.LN2 / BUCKETS_PER_HALVING;

/** Weights at the likelier border of each bucket. */
const BORDERS = Float64Array.from(
  { length: NUM_BUCKETS },
  (_, bucket) => 2 ** (-bucket / BUCKETS_PER_HALVING),
);

/** Coefficients of the parabola through e^-x at a bucket's borders and in its middle. */
const MIDDLE = Math.exp(-BUCKET_NATS / 2);
const END = Math.exp(-BUCKET_NATS);
const LINEAR = 4 * MIDDLE - END - 3;
const SQUARE = 2 + 2 * END - 4 * MIDDLE;

/** Each token adds END to 1 to its bucket's sum: n of them up to here sum up to more than n - 1. */
const MAX_SURE_SUM = Math.floor(1 / (1 - END)) - 1;

/*
 * State of the current row. V8 reads and writes arrays that it knows when it compiles a loop a third
 * faster than a class's own.
 */
/** The weights in each bucket, as multiples of its border's. */
const SUMS = new Float64Array(NUM_BUCKETS);
/** The low bits of each token's bucket, by which its tokens are found. */
const TAGS = new Uint8Array(MAX_TOKENS);
/** The same memory, four tokens each. */
const TAG_WORDS = new Int32Array(TAGS.buffer);

/**
 * A row's tokens in order of descending logit, then ascending id, and how much they weigh together:
 * a token's weight is e^((logit - max) / temperature), its unnormalised probability. min_p, top_k and
 * top_p each keep the first few tokens of this order, so that all that is asked of it are sums.
 *
 * The vocabulary is never sorted: one pass sums up weights in buckets of neighbouring logits, and
 * only a bucket in which an answer lies is sorted.
 *
 * Within a bucket a parabola stands for the exponential, with an error below 2e-9 of the weight.
 * Weights below 2^-48 of the largest count as 0; all of them are less than 2^21 * 2^-48 < 1e-8 of the
 * total. A softmax in float32 is no more exact than 6e-8.
 *
 * Rankings share memory: one at a time is in use, until the next row is ranked.
 */
export class TokenRanking {
  /** Number of tokens in each bucket, once asked for. */
  readonly #counts = new Int32Array(NUM_BUCKETS);
  #isCounted = false;
  /** Tokens of one bucket, the likeliest last: their logits' bits and the inverse of their ids. */
  readonly #sorted: Float64Array;
  #numSorted = 0;
  #sortedBucket = -1;
  readonly #logit = new Float32Array(1);
  readonly #logitBits = new Int32Array(this.#logit.buffer);
  #logits: Float32Array = new Float32Array();
  #max = 0;
  /** Buckets per unit of the logits. */
  #scale = 0;
  /** The weight of all tokens up to the last one that was reached. */
  #reached = 0;

  /**
   * @param numTokens of the longest row
   * @throws RangeError when a vocabulary of that size can't be ranked
   */
  constructor(numTokens: number) {
    if (numTokens > MAX_TOKENS) throw new RangeError(`${numTokens} tokens are too many`);
    this.#sorted = new Float64Array(numTokens);
  }

  /**
   * Ranks a row; what is not a number weighs nothing.
   * @param logits [tokens], not to be changed while the ranking is in use
   * @param max the highest of them, a finite number
   * @param temperature above 0, and far enough for its inverse to be a finite number
   * @returns the weight of all tokens, at least 1
   */
  rank(logits: Float32Array, max: number, temperature: number): number {
    const scale = 1 / (temperature * BUCKET_NATS);
    this.#logits = logits;
    this.#max = max;
    this.#scale = scale;
    this.#sortedBucket = -1;
    this.#isCounted = false;
    sumIntoBuckets(logits, max, scale);
    return this.#weightBefore(NUM_BUCKETS);
  }

  /** The weight of all tokens that weigh at least that much themselves, the likeliest being 1. */
  weightOfLikely(minWeight: number): number {
    const place = -Math.log2(minWeight) * BUCKETS_PER_HALVING;
    const bucket = Math.min(Math.floor(place), NUM_BUCKETS - 1);
    let weight = this.#weightBefore(bucket);
    this.#sort(bucket);
    for (let rank = 0; rank < this.#numSorted; rank++) {
      const own = this.#weight(this.#idAt(rank));
      if (own < minWeight) break;
      weight += own;
    }
    return weight;
  }

  /** The weight of the first `count` tokens. */
  weightOfFirst(count: number): number {
    let rest = count;
    let bucket = 0;
    // A bucket has at least as many tokens as its weights sum up to.
    while (bucket < NUM_BUCKETS && (SUMS[bucket] ?? 0) <= rest) {
      const own = this.#countIn(bucket);
      if (own > rest) break;
      rest -= own;
      bucket++;
    }
    let weight = this.#weightBefore(bucket);
    if (bucket === NUM_BUCKETS || rest === 0) return weight;
    this.#sort(bucket);
    for (let rank = 0; rank < rest; rank++) weight += this.#weight(this.#idAt(rank));
    return weight;
  }

  /** The weight of as many of the first tokens as it takes to weigh `limit` or more. */
  weightReaching(limit: number): number {
    this.tokenAt(limit);
    return this.#reached;
  }

  /** The weight of the tokens before the one with which they weigh `limit` or more. */
  weightBefore(limit: number): number {
    const last = this.tokenAt(limit);
    return last === -1 ? 0 : this.#reached - this.#weight(last);
  }

  /**
   * The id of the token with which the first tokens weigh `limit` or more, otherwise of the last one;
   * -1 where no token weighs anything.
   */
  tokenAt(limit: number): number {
    let bucket = 0;
    let before = 0;
    let after = 0;
    for (let next = 0; next < NUM_BUCKETS && after < limit; next++) {
      const weight = (SUMS[next] ?? 0) * (BORDERS[next] ?? 0);
      if (weight === 0) continue;
      bucket = next;
      before = after;
      after += weight;
    }
    this.#sort(bucket);
    if (this.#numSorted === 0) return -1;
    let rank = 0;
    this.#reached = before + this.#weight(this.#idAt(rank));
    // Rounding can leave a crumb after the bucket's last token.
    while (this.#reached < limit && rank + 1 < this.#numSorted) {
      this.#reached += this.#weight(this.#idAt(++rank));
    }
    return this.#idAt(rank);
  }

  #countIn(bucket: number): number {
    const sum = SUMS[bucket] ?? 0;
    if (sum <= MAX_SURE_SUM) return Math.ceil(sum);
    if (!this.#isCounted) countIntoBuckets(this.#logits, this.#max, this.#scale, this.#counts);
    this.#isCounted = true;
    return this.#counts[bucket] ?? 0;
  }

  #weightBefore(end: number): number {
    let weight = 0;
    for (let bucket = 0; bucket < end; bucket++) {
      weight += (SUMS[bucket] ?? 0) * (BORDERS[bucket] ?? 0);
    }
    return weight;
  }

  #weight(id: number): number {
    const place = (this.#max - (this.#logits[id] ?? 0)) * this.#scale;
    const bucket = place | 0;
    return (BORDERS[bucket] ?? 0) * shareOfBorder(place - bucket);
  }

  /** @param rank within the sorted bucket */
  #idAt(rank: number): number {
    const key = this.#sorted[this.#numSorted - 1 - rank] ?? 0;
    return MAX_TOKENS - 1 - (key % MAX_TOKENS);
  }

  #sort(bucket: number): void {
    if (bucket === this.#sortedBucket) return;
    this.#sortedBucket = bucket;
    this.#numSorted = 0;
    const end = this.#logits.length / 4;
    const pattern = Math.imul(bucket & 0xff, 0x01010101);
    for (let at = 0; at < end; at += 4) {
      const hits =
        zeroBytes((TAG_WORDS[at] ?? 0) ^ pattern) |
        zeroBytes((TAG_WORDS[at + 1] ?? 0) ^ pattern) |
        zeroBytes((TAG_WORDS[at + 2] ?? 0) ^ pattern) |
        zeroBytes((TAG_WORDS[at + 3] ?? 0) ^ pattern);
      if (hits !== 0) this.#collect(4 * at, bucket);
    }
    this.#sorted.subarray(0, this.#numSorted).sort();
  }

  /** Adds those of 16 tokens that are in the bucket. Tags of others may be the same. */
  #collect(start: number, bucket: number): void {
    const tag = bucket & 0xff;
    for (let id = start; id < start + 16; id++) {
      if (TAGS[id] !== tag) continue;
      const logit = this.#logits[id] ?? NaN;
      const place = (this.#max - logit) * this.#scale;
      if (!(place >= bucket && place < bucket + 1)) continue;
      // Adding 0 turns -0 into 0; -0 would sort below it.
      this.#logit[0] = logit + 0;
      const bits = this.#logitBits[0] ?? 0;
      const ascending = (bits ^ ((bits >> 31) | 0x80000000)) >>> 0;
      this.#sorted[this.#numSorted++] = ascending * MAX_TOKENS + (MAX_TOKENS - 1 - id);
    }
  }
}

/** Four at a time is faster. After the end nothing is a number. */
function sumIntoBuckets(logits: Float32Array, max: number, scale: number): void {
  SUMS.fill(0);
  for (let id = 0; id < logits.length; id += 4) {
    const place0 = (max - (logits[id] ?? NaN)) * scale;
    const place1 = (max - (logits[id + 1] ?? NaN)) * scale;
    const place2 = (max - (logits[id + 2] ?? NaN)) * scale;
    const place3 = (max - (logits[id + 3] ?? NaN)) * scale;
    if (place0 < NUM_BUCKETS) {
      const bucket = place0 | 0;
      SUMS[bucket] = (SUMS[bucket] ?? 0) + shareOfBorder(place0 - bucket);
      TAGS[id + 0] = bucket;
    }
    if (place1 < NUM_BUCKETS) {
      const bucket = place1 | 0;
      SUMS[bucket] = (SUMS[bucket] ?? 0) + shareOfBorder(place1 - bucket);
      TAGS[id + 1] = bucket;
    }
    if (place2 < NUM_BUCKETS) {
      const bucket = place2 | 0;
      SUMS[bucket] = (SUMS[bucket] ?? 0) + shareOfBorder(place2 - bucket);
      TAGS[id + 2] = bucket;
    }
    if (place3 < NUM_BUCKETS) {
      const bucket = place3 | 0;
      SUMS[bucket] = (SUMS[bucket] ?? 0) + shareOfBorder(place3 - bucket);
      TAGS[id + 3] = bucket;
    }
  }
}

function countIntoBuckets(
  logits: Float32Array,
  max: number,
  scale: number,
  counts: Int32Array,
): void {
  counts.fill(0);
  for (let id = 0; id < logits.length; id++) {
    const place = (max - (logits[id] ?? NaN)) * scale;
    if (place < NUM_BUCKETS) counts[place | 0] = (counts[place | 0] ?? 0) + 1;
  }
}

/** A weight as a share of the weight at its bucket's border; `rest` of the bucket lies between. */
function shareOfBorder(rest: number): number {
  return 1 + rest * (LINEAR + rest * SQUARE);
}

/** Not 0 where one of the word's four bytes is. */
function zeroBytes(word: number): number {
  return (word - 0x01010101) & ~word & 0x80808080;
}
