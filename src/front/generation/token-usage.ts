/** Counts the tokens of one answer, over all its choices. */
import { isEmbedding } from '../../engine/prompt-embeddings.ts';
import type { FanOutRequest } from './fan-out.ts';
import { type GenerationRequest, spentTokens, type TokenDelta } from './generation.ts';

export interface TokenUsage {
  readonly numPromptTokens: number;
  /** Prompt tokens that were found in the cache. */
  readonly numCachedTokens: number;
  /** Prompt tokens that stand for images. */
  readonly numImageTokens: number;
  readonly numOutputTokens: number;
  /** Output tokens of thoughts; null if the model has none. */
  readonly numReasoningTokens: number | null;
}

/** A prompt counts once, however many choices it has, and so do its cached tokens. */
export class UsageCounter {
  readonly #numChoices: number;
  readonly #numPromptTokens: number;
  readonly #numImageTokens: number;
  #numCachedTokens: number;
  #numOutputTokens: number;
  #numReasoningTokens: number | null;

  /** @param before what the answer took before this generation of it */
  constructor({ prompts, numChoices }: FanOutRequest, before?: TokenUsage) {
    this.#numChoices = numChoices;
    this.#numPromptTokens = prompts.reduce(
      (sum, prompt) => sum + prompt.promptTokenIds.length,
      before?.numPromptTokens ?? 0,
    );
    this.#numImageTokens = prompts.reduce(
      (sum, prompt) => sum + imageTokensOf(prompt),
      before?.numImageTokens ?? 0,
    );
    this.#numCachedTokens = before?.numCachedTokens ?? 0;
    this.#numOutputTokens = before?.numOutputTokens ?? 0;
    this.#numReasoningTokens = before?.numReasoningTokens ?? null;
  }

  add(delta: TokenDelta): void {
    const { choice = 0, numCachedTokens = 0, numReasoningTokens = null } = delta;
    this.#numOutputTokens += spentTokens(delta);
    // The other choices find what the first has just computed.
    if (choice % this.#numChoices === 0) this.#numCachedTokens += numCachedTokens;
    if (numReasoningTokens !== null) {
      this.#numReasoningTokens = (this.#numReasoningTokens ?? 0) + numReasoningTokens;
    }
  }

  get usage(): TokenUsage {
    return {
      numPromptTokens: this.#numPromptTokens,
      numCachedTokens: this.#numCachedTokens,
      numImageTokens: this.#numImageTokens,
      numOutputTokens: this.#numOutputTokens,
      numReasoningTokens: this.#numReasoningTokens,
    };
  }
}

function imageTokensOf({ images, promptTokenIds }: GenerationRequest): number {
  return images === undefined ? 0 : promptTokenIds.filter(isEmbedding).length;
}
