import type { TokenOutput } from '../request.ts';
import type { Sequence } from '../sequence.ts';
import type { SampledToken } from '../step.ts';

/** Adds sampled tokens to a sequence's text. @returns the outputs for its client */
export function appendTokens(sequence: Sequence, tokens: readonly SampledToken[]): TokenOutput[] {
  const { promptTokenIds, outputTokenIds } = sequence.request;
  // Those generated before a crash came with the request.
  const numGiven = promptTokenIds.length + outputTokenIds.length;
  return tokens.map((token) => {
    const isFirst = sequence.numTokens === numGiven;
    sequence.append(token.tokenId);
    const output = { id: sequence.id, ...token, finishReason: sequence.finishReason() };
    return isFirst ? { ...output, numCachedTokens: sequence.numCachedTokens } : output;
  });
}

/** Output of a sequence that ends with its prompt. */
export function readOutput({ id, numCachedTokens }: Sequence, values: Float32Array): TokenOutput {
  return { id, tokenId: -1, finishReason: 'stop', numCachedTokens, values };
}
