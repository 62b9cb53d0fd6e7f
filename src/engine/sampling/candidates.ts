import type { SamplingParams } from '../request.ts';

/** Stand in for a row's whole vocabulary where no other token can be drawn. */
export interface Candidates {
  /** Ascending. */
  readonly tokenIds: Int32Array;
  /** Weight of all other tokens together, where the likeliest one's weight is 1. */
  readonly restWeight: number;
}

/**
 * Whether a row's likeliest tokens are all that its parameters can draw.
 * @param weights of the likeliest tokens, descending from 1
 * @param total weight of the whole vocabulary
 */
export function coversDraw(
  weights: Float32Array,
  total: number,
  { topK, topP, minP }: SamplingParams,
  vocabSize: number,
): boolean {
  if (weights.length === vocabSize) return true;
  if (topK > 0 && topK <= weights.length) return true;
  if (minP > 0) return (weights.at(-1) ?? 0) < minP;
  const covered = weights.reduce((sum, weight) => sum + weight, 0);
  return topP < 1 && topK === 0 && covered >= topP * total;
}
