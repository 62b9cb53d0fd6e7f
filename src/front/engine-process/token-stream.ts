import type { FinishReason, Logprobs } from '../../engine/request.ts';
import type { TokenDetails } from '../../engine/process/step-message.ts';
import { type TokenBatch } from './engine-contract.ts';
import { EngineError } from './errors.ts';

/** How many tokens a consumer may lag for long. Sockets buffer on top of that. */
const MAX_PENDING_TOKENS = 1024;

/** Tokens that may wait at all. */
const MOST_PENDING_TOKENS = 16 * MAX_PENDING_TOKENS;

/**
 * Milliseconds without a read after which a consumer with too many tokens to read lags. After a pause of
 * the event loop, tokens of all that time come at once, before any consumer has had a turn.
 */
const LAG_MS = 250;

interface Reader {
  resolve(result: IteratorResult<TokenBatch, void>): void;
  reject(error: unknown): void;
}

/**
 * The tokens of one request on their way from the engine to its consumer, who iterates over it once.
 * The engine never waits: what the consumer has not read yet collects here, and is read as one batch.
 */
export class TokenStream implements AsyncIterableIterator<TokenBatch, void> {
  /** Calls it once: when no more tokens can come, or the consumer wants no more. */
  onEnd: () => void = () => {};
  #tokenIds: number[] = [];
  #logprobs: Logprobs[] = [];
  /** Details of the first of `#tokenIds`. */
  #first: TokenDetails | null = null;
  #finishReason: FinishReason | null = null;
  #error: unknown;
  #isOver = false;
  #lagTimer: NodeJS.Timeout | null = null;
  #isLagging = false;
  /** Reader that waits for tokens. */
  #reader: Reader | null = null;

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * To be followed by `flush`, once the tokens of this step are here.
   * @returns false when the consumer lags too much: the request must be given up
   */
  push(tokenId: number, details: TokenDetails | null): boolean {
    if (details?.values) this.#first = details;
    else if (tokenId >= 0) {
      if (this.#tokenIds.length === 0) this.#first = details;
      this.#tokenIds.push(tokenId);
      if (details?.logprobs) this.#logprobs.push(details.logprobs);
    }
    if (details !== null && details.finishReason !== null) this.#end(details.finishReason);
    const numPending = this.#tokenIds.length;
    if (numPending > MAX_PENDING_TOKENS) this.#watchLag();
    return !this.#isLagging && numPending <= MOST_PENDING_TOKENS;
  }

  /** Gives what is pending to a consumer who waits. */
  flush(): void {
    const reader = this.#reader;
    if (reader === null || !this.#hasNews) return;
    this.#reader = null;
    try {
      reader.resolve(this.#take());
    } catch (error) {
      reader.reject(error);
    }
  }

  /** Ends the stream: the consumer gets what is pending, then the error. */
  fail(error: unknown): void {
    this.#error = error;
    this.#end('error');
    this.flush();
  }

  /** Ends the stream at once: what is pending is dropped. */
  abort(reason: unknown): void {
    this.#tokenIds = [];
    this.#logprobs = [];
    this.fail(reason);
  }

  /** Not to be called again before it is settled. */
  next(): Promise<IteratorResult<TokenBatch, void>> {
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.flush();
    });
  }

  async return(): Promise<IteratorResult<TokenBatch, void>> {
    this.#isOver = true;
    this.#end('stop');
    this.flush();
    return { done: true, value: undefined };
  }

  get #hasNews(): boolean {
    return this.#tokenIds.length > 0 || this.#finishReason !== null;
  }

  /** Until the next read; then the turn of the event loop in which a consumer would read comes first. */
  #watchLag(): void {
    if (this.#lagTimer !== null) return;
    const timer = setTimeout(() => {
      setImmediate(() => (this.#isLagging = this.#lagTimer === timer));
    }, LAG_MS);
    this.#lagTimer = timer.unref();
  }

  #end(reason: FinishReason): void {
    const isFirst = this.#finishReason === null;
    this.#finishReason = reason;
    if (isFirst) this.onEnd();
  }

  /** @throws what it failed with, after all that is pending */
  #take(): IteratorResult<TokenBatch, void> {
    if (this.#isOver) return { done: true, value: undefined };
    if (this.#lagTimer !== null) clearTimeout(this.#lagTimer);
    this.#lagTimer = null;
    this.#isLagging = false;
    const tokenIds = this.#tokenIds;
    const hasFailed = this.#finishReason === 'error';
    if (hasFailed && tokenIds.length === 0) {
      this.#isOver = true;
      throw this.#error ?? new EngineError('the engine failed the request');
    }
    const finishReason = this.#finishReason === 'error' ? null : this.#finishReason;
    if (finishReason !== null) this.#isOver = true;
    const { numCachedTokens, promptLogprobs, logprobs, values } = this.#first ?? {};
    const all = logprobs === undefined ? undefined : this.#logprobs;
    this.#tokenIds = [];
    this.#logprobs = [];
    this.#first = null;
    const value = {
      tokenIds,
      finishReason,
      logprobs: all,
      promptLogprobs,
      numCachedTokens,
      values,
    };
    return { done: false, value };
  }
}
