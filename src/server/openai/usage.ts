import type { TokenUsage } from '../../front/generation/token-usage.ts';

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** `image_tokens`, the name that OpenAI's other APIs have, is left out without images. */
  readonly prompt_tokens_details: {
    readonly cached_tokens: number;
    readonly image_tokens?: number;
  };
  /** Left out where the model has no thoughts. */
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

export function toUsage(usage: TokenUsage): Usage {
  const { numPromptTokens, numOutputTokens, numReasoningTokens } = usage;
  return {
    prompt_tokens: numPromptTokens,
    completion_tokens: numOutputTokens,
    total_tokens: numPromptTokens + numOutputTokens,
    prompt_tokens_details: toPromptDetails(usage),
    ...(numReasoningTokens === null
      ? {}
      : { completion_tokens_details: { reasoning_tokens: numReasoningTokens } }),
  };
}

function toPromptDetails({ numCachedTokens: cached_tokens, numImageTokens }: TokenUsage) {
  return numImageTokens === 0 ? { cached_tokens } : { cached_tokens, image_tokens: numImageTokens };
}
