import type { GenerationDelta } from './generation.ts';
import { joinDeltas } from './merge-deltas.ts';

/**
 * The same deltas in fewer pieces: the first of each choice, then so many tokens at a time.
 * @param numTokens of a piece; more where they come together
 */
export async function* inIntervals(
  deltas: AsyncIterable<GenerationDelta>,
  numTokens: number,
): AsyncGenerator<GenerationDelta, void> {
  /** By choice, of those that have begun: what was not told yet. */
  const held = new Map<number, GenerationDelta | null>();
  for await (const delta of deltas) {
    const choice = delta.choice ?? 0;
    const before = held.get(choice);
    const piece = before ? joinDeltas(before, delta) : delta;
    const { finishReason, isSeen = false } = delta;
    const isDue = finishReason !== null || isSeen || piece.tokenIds.length >= numTokens;
    const isTold = isDue || before === undefined;
    held.set(choice, isTold ? null : piece);
    if (isTold) yield piece;
  }
}
