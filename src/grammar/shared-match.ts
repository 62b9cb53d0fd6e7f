/**
 * Words of each mask: its stamp, its state, then a bit per token, 32 a word, set for allowed tokens.
 */
const STAMP = 0;
const STATE = 1;
const WORDS = 2;

const OK = 0;
const FAILED = 1;

/** Work longer than this is slow, in milliseconds: a thread's other texts wait meanwhile. */
const SLOW_MS = 50;

/** Pieces of work begun and ended, counted in one, and how many slow ones came last. */
const WORK = 0;
const SLOW_IN_A_ROW = 1;

/** Where the forced tokens begin: their position, their number, and they themselves. */
const FORCED_POSITION = 2;
const FORCED_LENGTH = 3;
const FORCED_TOKENS = 4;

export interface SharedMatchShape {
  /** Length of the model's logits. */
  readonly vocabSize: number;
  /** Longest draft; 0 when there are none. */
  readonly maxDraftTokens: number;
}

/** A SharedMatch as it crosses threads. */
export interface SharedMatchData extends SharedMatchShape {
  readonly buffer: SharedArrayBuffer;
}

/**
 * Results that a matcher's thread writes to shared memory for the engine to read: which tokens may
 * follow, next and after each token of a draft, and which the grammar forces next.
 */
export class SharedMatch {
  readonly data: SharedMatchData;
  readonly #shared: Int32Array;
  readonly #numWords: number;
  readonly #firstMask: number;

  static allocate(shape: SharedMatchShape): SharedMatch {
    const { vocabSize, maxDraftTokens } = shape;
    const numMaskWords = (1 + maxDraftTokens) * (WORDS + Math.ceil(vocabSize / 32));
    const numWords = FORCED_TOKENS + maxDraftTokens + numMaskWords;
    const buffer = new SharedArrayBuffer(numWords * Int32Array.BYTES_PER_ELEMENT);
    const match = new SharedMatch({ ...shape, buffer });
    match.#shared[FORCED_POSITION] = -1;
    for (let slot = 0; slot <= maxDraftTokens; slot++) match.#shared[match.#at(slot) + STAMP] = -1;
    return match;
  }

  constructor(data: SharedMatchData) {
    this.data = data;
    this.#shared = new Int32Array(data.buffer);
    this.#numWords = Math.ceil(data.vocabSize / 32);
    this.#firstMask = FORCED_TOKENS + data.maxDraftTokens;
  }

  /**
   * @param slot 0 for the next token, i + 1 for the one after a draft's token i
   * @param stamp the number of generated tokens that the mask follows; of a draft the draft's number
   * @param mask null when the matcher refused a token, or failed
   */
  publishMask(slot: number, stamp: number, mask: Int32Array | null): void {
    const at = this.#at(slot);
    if (mask !== null) this.#shared.set(mask, at + WORDS);
    this.#shared[at + STATE] = mask === null ? FAILED : OK;
    Atomics.store(this.#shared, at + STAMP, stamp);
    Atomics.notify(this.#shared, at + STAMP);
  }

  /** Shows the engine that the thread works on this text. */
  async work(work: () => Promise<void>): Promise<void> {
    const start = performance.now();
    Atomics.add(this.#shared, WORK, 1);
    try {
      await work();
    } finally {
      Atomics.add(this.#shared, WORK, 1);
      const isSlow = performance.now() - start > SLOW_MS;
      Atomics.store(this.#shared, SLOW_IN_A_ROW, isSlow ? this.numSlowInARow + 1 : 0);
    }
  }

  /** Odd while the thread works on this text; it changes with each piece of work. */
  get workNumber(): number {
    return Atomics.load(this.#shared, WORK);
  }

  get numSlowInARow(): number {
    return Atomics.load(this.#shared, SLOW_IN_A_ROW);
  }

  hasMask(slot: number, stamp: number): boolean {
    return Atomics.load(this.#shared, this.#at(slot) + STAMP) === stamp;
  }

  /** Null when the matcher failed. */
  mask(slot: number): Int32Array | null {
    const at = this.#at(slot);
    if (this.#shared[at + STATE] !== OK) return null;
    return this.#shared.subarray(at + WORDS, at + WORDS + this.#numWords);
  }

  /** Sleeps until a mask is there, for `timeoutMs` at most. Returns whether it is. */
  waitForMask(slot: number, stamp: number, timeoutMs: number): boolean {
    const index = this.#at(slot) + STAMP;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const found = Atomics.load(this.#shared, index);
      if (found === stamp) return true;
      const left = end - performance.now();
      if (left <= 0) return false;
      Atomics.wait(this.#shared, index, found, left);
    }
  }

  /** @param position number of generated tokens before the forced ones */
  publishForced(position: number, tokenIds: readonly number[]): void {
    // A reader that sees a half-written state only makes a wrong draft.
    Atomics.store(this.#shared, FORCED_LENGTH, 0);
    for (const [index, tokenId] of tokenIds.entries()) {
      Atomics.store(this.#shared, FORCED_TOKENS + index, tokenId);
    }
    Atomics.store(this.#shared, FORCED_LENGTH, tokenIds.length);
    Atomics.store(this.#shared, FORCED_POSITION, position);
  }

  /** The last forced tokens that were found, and their position; -1 before the first. */
  get forced(): { readonly position: number; readonly tokenIds: Int32Array } {
    const position = Atomics.load(this.#shared, FORCED_POSITION);
    const length = Atomics.load(this.#shared, FORCED_LENGTH);
    return { position, tokenIds: this.#shared.slice(FORCED_TOKENS, FORCED_TOKENS + length) };
  }

  #at(slot: number): number {
    return this.#firstMask + slot * (WORDS + this.#numWords);
  }
}
