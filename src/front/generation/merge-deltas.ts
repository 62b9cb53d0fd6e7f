/** Joins what a generation tells of one choice piece by piece. */
import type { GenerationDelta } from './generation.ts';

/** Tokens of a joined piece: with many log-probabilities, what is written of it takes about 1 ms. */
const MAX_TOKENS = 64;

/** Whether `next` may be told together with `piece`. */
export function areJoinable(piece: GenerationDelta, next: GenerationDelta): boolean {
  return (
    (piece.choice ?? 0) === (next.choice ?? 0) &&
    piece.finishReason === null &&
    piece.tokenIds.length + next.tokenIds.length <= MAX_TOKENS
  );
}

/** One piece of what two pieces of a choice, one after the other, tell. */
export function joinDeltas(first: GenerationDelta, next: GenerationDelta): GenerationDelta {
  return {
    choice: first.choice,
    text: first.text + next.text,
    tokenIds: [...first.tokenIds, ...next.tokenIds],
    finishReason: next.finishReason,
    stopReason: next.stopReason,
    logprobs: joined(first.logprobs, next.logprobs),
    promptLogprobs: first.promptLogprobs ?? next.promptLogprobs,
    numCachedTokens: first.numCachedTokens ?? next.numCachedTokens,
    textOffsets: joined(first.textOffsets, next.textOffsets),
  };
}

/** The same deltas in fewer pieces, choice by choice. */
export function joinByChoice(deltas: readonly GenerationDelta[]): GenerationDelta[] {
  const byChoice = new Map<number, GenerationDelta[]>();
  for (const delta of deltas) {
    const choice = delta.choice ?? 0;
    const pieces = byChoice.get(choice) ?? [];
    const last = pieces.at(-1);
    if (last && areJoinable(last, delta)) pieces[pieces.length - 1] = joinDeltas(last, delta);
    else pieces.push(delta);
    byChoice.set(choice, pieces);
  }
  return [...byChoice.values()].flat();
}

function joined<T>(first?: readonly T[], next?: readonly T[]): readonly T[] | undefined {
  return first && next ? [...first, ...next] : (first ?? next);
}
