import type { FinishReason, TokenOutput } from '../../engine/request.ts';
import { EngineError, type TokenBatch } from './engine-contract.ts';

/** How many tokens a consumer may lag. Sockets buffer on top of that. */
const MAX_PENDING_TOKENS = 1024;

/**
 * The tokens of one request on their way from the engine to its consumer. The engine never waits:
 * what the consumer has not read yet collects here, and is read as one batch.
 */
export class TokenStream {
  #pending: TokenOutput[] = [];
  #finishReason: FinishReason | null = null;
  #error: unknown;
  #wake: (() => void) | undefined;

  /** @returns false when the consumer lags too much: the request must be given up */
  push(output: TokenOutput): boolean {
    if (output.tokenId >= 0 || output.values) this.#pending.push(output);
    this.#finishReason = output.finishReason;
    this.#wake?.();
    return this.#pending.length <= MAX_PENDING_TOKENS;
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
      const outputs = this.#pending;
      const finishReason = this.#finishReason;
      this.#pending = [];
      if (finishReason === 'error') {
        if (outputs.length > 0) yield toBatch(outputs, null);
        throw this.#error ?? new EngineError('the engine failed the request');
      }
      yield toBatch(outputs, finishReason);
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

function toBatch(
  outputs: readonly TokenOutput[],
  finishReason: TokenBatch['finishReason'],
): TokenBatch {
  const [first] = outputs;
  const { numCachedTokens, promptLogprobs, values } = first ?? {};
  return {
    tokenIds: values ? [] : outputs.map(({ tokenId }) => tokenId),
    finishReason,
    ...(values === undefined ? {} : { values }),
    ...(first?.logprobs === undefined
      ? {}
      : { logprobs: outputs.flatMap(({ logprobs }) => logprobs ?? []) }),
    ...(numCachedTokens === undefined ? {} : { numCachedTokens }),
    ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
  };
}
