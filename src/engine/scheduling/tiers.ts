import type { Sequence } from '../sequence.ts';

/** A sequence joins if its step leaves so much of a better tier's target: then it stays for a while. */
export const JOINING_SHARE = 0.8;
/** While its prompt is computed, others may decode for so much of a stream's target. */
const PROMPT_SHARE = 0.5;
/** One step in so many may be too long for a target, so that no worse tier starves; 95% are in time. */
export const LATE_STEP_EVERY = 20;

export function tierOf({ request: { tier } }: Sequence): number {
  return tier;
}

/** The best tier of those whose streams would get a token too late from a step of `stepMs`. */
export function latestTier(running: readonly Sequence[], stepMs: number): number {
  const late = running.filter(({ request, numUncomputedTokens }) => {
    const share = numUncomputedTokens > 1 ? PROMPT_SHARE : 1;
    return share * (request.targetItlMs ?? Infinity) < stepMs;
  });
  return Math.min(...late.map(tierOf));
}

/** The last that has to yield to streams of `tier`: one of each worse tier keeps its slot. */
export function lastToYield(running: readonly Sequence[], tier: number): Sequence | undefined {
  const worse = running.filter((sequence) => tierOf(sequence) > tier);
  return worse.findLast((one) =>
    worse.some((other) => other !== one && tierOf(other) === tierOf(one)),
  );
}
