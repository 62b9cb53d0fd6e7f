import type { FinishReason } from '../engine/messages.ts';
import { EngineError, type TokenBatch } from './engine.ts';

/**
 * The tokens of one request on their way from the engine to its consumer. The engine never waits:
 * what the consumer has not yet taken collects here, and is taken as one batch.
 */
export class TokenStream {
  #pending: number[] = [];
  #finishReason: FinishReason | null = null;
  #error: unknown;
  #wake: (() => void) | undefined;

  push(tokenId: number, finishReason: FinishReason | null): void {
    if (tokenId >= 0) this.#pending.push(tokenId);
    this.#finishReason = finishReason;
    this.#wake?.();
  }

  /** Ends the stream: the consumer gets what is pending, then the error. */
  fail(error: unknown): void {
    this.#finishReason = 'error';
    this.#error = error;
    this.#wake?.();
  }

  /** Ends the stream at once: what is pending is dropped. */
  abort(reason: unknown): void {
    this.#pending = [];
    this.fail(reason);
  }

  get ended(): boolean {
    return this.#finishReason !== null;
  }

  /** To be consumed once, by one consumer. */
  async *batches(): AsyncGenerator<TokenBatch, void> {
    for (;;) {
      if (this.#pending.length === 0 && !this.ended) await this.#arrival();
      const tokenIds = this.#pending;
      const finishReason = this.#finishReason;
      this.#pending = [];
      if (finishReason === 'error') {
        if (tokenIds.length > 0) yield { tokenIds, finishReason: null };
        throw this.#error ?? new EngineError('the engine failed the request');
      }
      yield { tokenIds, finishReason };
      if (finishReason !== null) return;
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
