import { LogprobsTable } from './sampling/logprobs.ts';
import { AGING_MS, type EngineRequest, type FinishReason } from './request.ts';
import { TokenCounts } from './sampling/token-counts.ts';

/** One request inside the engine: its tokens, and how far the KV cache has followed them. */
export class Sequence {
  readonly id: number;
  readonly request: EngineRequest;
  readonly numPromptTokens: number;
  /** Tokens whose keys and values are in the cache. Advanced at commit only. */
  numComputedTokens = 0;
  /** Its slot of the KV cache, or -1 while it has none. */
  slot = -1;
  /** Pages of a paged KV cache that hold its keys and values, in order; empty with other caches. */
  pageTable: readonly number[] = [];
  /** The lowest is admitted first and preempted last. */
  readonly order: number;
  /** Prompt tokens found in the cache when it first got a slot, in whole blocks; -1 before. */
  numCachedTokens = -1;
  /** Tokens of the kept text that begins most like it; 0 where there is none, or that is not known. */
  numKeptTokens = 0;
  /** How often another sequence got a slot while there was no memory for this one. */
  timesOvertaken = 0;
  /**
   * Log-probabilities of the prompt's tokens but the first, as far as computed; null when not
   * requested.
   */
  readonly promptLogprobs: LogprobsTable | null;
  readonly #textCounts = new TokenCounts();
  readonly #outputCounts = new TokenCounts();
  #tokenIds: Int32Array;
  #numTokens: number;

  constructor(request: EngineRequest) {
    const { promptTokenIds, outputTokenIds } = request;
    this.id = request.id;
    this.request = request;
    this.order = request.arrivalMs + request.priority * AGING_MS;
    this.numPromptTokens = promptTokenIds.length;
    const { promptLogprobs } = request;
    this.promptLogprobs =
      promptLogprobs === null ? null : new LogprobsTable(promptTokenIds.length - 1, promptLogprobs);
    this.#numTokens = promptTokenIds.length + outputTokenIds.length;
    this.#tokenIds = new Int32Array(this.#numTokens + 64);
    this.#tokenIds.set(promptTokenIds);
    this.#tokenIds.set(outputTokenIds, promptTokenIds.length);
  }

  /** Prompt and output tokens together. */
  get numTokens(): number {
    return this.#numTokens;
  }

  get numOutputTokens(): number {
    return this.#numTokens - this.numPromptTokens;
  }

  /** Tokens to compute before the next one can be sampled; at least 1. */
  get numUncomputedTokens(): number {
    return this.#numTokens - this.numComputedTokens;
  }

  /**
   * Whether its next step computes one token of the prompt for the log-probabilities of the token
   * after it, and samples nothing.
   */
  get scoresPrompt(): boolean {
    const isWanted = this.request.promptLogprobs !== null && this.numOutputTokens === 0;
    return isWanted && this.numUncomputedTokens > 1;
  }

  /** A view of the token ids `start` to `end` (exclusive), valid until the next `append`. */
  tokenIds(start = 0, end = this.#numTokens): Int32Array {
    return this.#tokenIds.subarray(start, end);
  }

  /** Counts the tokens of prompt and output. */
  countText(): TokenCounts {
    return this.#textCounts.countUpTo(this.tokenIds());
  }

  countOutput(): TokenCounts {
    return this.#outputCounts.countUpTo(this.tokenIds(this.numPromptTokens));
  }

  append(tokenId: number): void {
    if (this.#numTokens === this.#tokenIds.length) {
      const grown = new Int32Array(this.#tokenIds.length * 2);
      grown.set(this.#tokenIds);
      this.#tokenIds = grown;
    }
    this.#tokenIds[this.#numTokens++] = tokenId;
  }

  /** Takes back the last tokens, down to `numTokens`. */
  truncate(numTokens: number): void {
    this.#numTokens = numTokens;
  }

  /** Why the sequence ends with its last token, or null when it goes on. */
  finishReason(): FinishReason | null {
    const { stopTokenIds, maxTokens } = this.request;
    const last = this.#tokenIds[this.#numTokens - 1] ?? -1;
    if (this.numOutputTokens > 0 && stopTokenIds.includes(last)) return 'stop';
    return this.numOutputTokens >= maxTokens ? 'length' : null;
  }
}
