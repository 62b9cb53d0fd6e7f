/** Counts the tokens of one answer, over all its choices. */
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

type CountedDelta = Pick<GenerationDelta, 'choice' | 'tokenIds' | 'numCachedTokens'>;

/** A prompt counts once, however many choices it has, and so do its cached tokens. */
export class UsageCounter {
  readonly #numChoices: number;
  readonly #numPromptTokens: number;
  #numCachedTokens = 0;
  #numTokens = 0;

  constructor({ prompts, numChoices }: FanOutRequest) {
    this.#numChoices = numChoices;
    this.#numPromptTokens = prompts.reduce((sum, prompt) => sum + prompt.promptTokenIds.length, 0);
  }

  add({ choice = 0, tokenIds, numCachedTokens = 0 }: CountedDelta): void {
    this.#numTokens += tokenIds.length;
    // The other choices find what the first has just computed.
    if (choice % this.#numChoices === 0) this.#numCachedTokens += numCachedTokens;
  }

  get usage(): Usage {
    return {
      prompt_tokens: this.#numPromptTokens,
      completion_tokens: this.#numTokens,
      total_tokens: this.#numPromptTokens + this.#numTokens,
      prompt_tokens_details: { cached_tokens: this.#numCachedTokens },
    };
  }
}
