/**
 * Resumes an answer that another server began. Sampling is a function of seed and position, so an
 * answer is given by its prompt, its parameters and the tokens so far.
 */
import type { EngineRequest } from '../../engine/request.ts';
import type { TokenBatch } from '../engine-process/engine-contract.ts';

/** How far one choice has come. */
export interface ResumedChoice {
  /** Tokens that are known, from the first on; the others are generated again. */
  readonly outputTokenIds: Int32Array;
  /** Tokens whose text its reader has. */
  readonly numSeen: number;
}

/** Known tokens, as the engine would have sent them; null if there are none. */
export function knownBatch(
  outputTokenIds: Int32Array,
  { stopTokenIds, maxTokens }: Pick<EngineRequest, 'stopTokenIds' | 'maxTokens'>,
): TokenBatch | null {
  const last = outputTokenIds.at(-1);
  if (last === undefined) return null;
  const hasStopped = stopTokenIds.includes(last);
  const isFull = outputTokenIds.length >= maxTokens;
  return {
    tokenIds: [...outputTokenIds],
    finishReason: hasStopped ? 'stop' : isFull ? 'length' : null,
  };
}

/** `batch` in two, so that the first has `numTokens`; in one, if it has no more. */
export function splitBatch(batch: TokenBatch, numTokens: number): [TokenBatch, ...TokenBatch[]] {
  const { tokenIds, logprobs } = batch;
  if (numTokens <= 0 || numTokens >= tokenIds.length) return [batch];
  const first: TokenBatch = {
    ...batch,
    tokenIds: tokenIds.slice(0, numTokens),
    finishReason: null,
    ...(logprobs && { logprobs: logprobs.slice(0, numTokens) }),
  };
  const second: TokenBatch = {
    tokenIds: tokenIds.slice(numTokens),
    finishReason: batch.finishReason,
    ...(logprobs && { logprobs: logprobs.slice(numTokens) }),
  };
  return [first, second];
}
