import { mostWithin } from '../costs/most-within.ts';

/** How much prefill a step takes while others decode. All shares are of the decode run's time. */
export interface PrefillPolicy {
  /**
   * Without a target of the user's, each prompt that waits for its prefill may lengthen a step by
   * this share. One new prompt then hardly disturbs the others, and many prompts are not starved.
   */
  readonly stretchPerPrompt: number;
  /** Share that a step without a waiting prompt saves up for later steps. */
  readonly savedPerStep: number;
  /** The most that is saved up: a single step may be longer by this much. */
  readonly maxSaved: number;
  /**
   * Prefill makes progress: the first prompt in line computes at least this many tokens a step, unless the step
   * would take twice as long by them.
   */
  readonly minChunk: number;
}

/** Cost of a chunk that is worth what is read for it, in that of its first token. */
const WORTHWHILE = 3;

/** How the values were chosen: docs/scheduling.md. */
export const DEFAULT_PREFILL_POLICY: PrefillPolicy = {
  stretchPerPrompt: 0.35,
  savedPerStep: 0.1,
  maxSaved: 4,
  minChunk: 2,
};

/**
 * The time that prefill may take while others decode: a token bucket. While no prompt comes,
 * streams save time for the next one: one long step, so that a short prompt is done at once. A long
 * prompt has used that up after its first chunk.
 */
export class PrefillBudget {
  readonly policy: PrefillPolicy;
  /** In decode runs. */
  #saved = 0;

  constructor(policy: PrefillPolicy) {
    this.policy = policy;
  }

  /**
   * For an iteration's prefill; any amount where nothing decodes.
   * @param decodeMs what its decode run is expected to take
   * @param numPrompts yet to be computed: those with a slot, and those that could have one
   * @param targetMs how long the iteration may take; Infinity leaves it to the policy
   */
  availableMs(decodeMs: number, numPrompts: number, targetMs = Infinity): number {
    if (decodeMs === 0) return Infinity;
    if (targetMs < Infinity) return targetMs - decodeMs;
    return decodeMs * (this.#saved + this.policy.stretchPerPrompt * numPrompts);
  }

  /**
   * Tokens of a step's first chunk; 0 if it has none. Attention reads all that is cached before a chunk, so behind a
   * long text a few tokens take as long as many: they wait until as much is saved up as may be.
   * @param paceMs that each step may be longer
   */
  leastTokens(paceMs: number, wanted: number, costMs: (tokens: number) => number): number {
    const least = Math.min(this.policy.minChunk, wanted);
    if (costMs(least) <= paceMs) return least;
    if (this.#saved < this.policy.maxSaved) return 0;
    return Math.max(least, mostWithin(WORTHWHILE * costMs(1), wanted, costMs));
  }

  /** Accounts for the prefill that was planned. */
  settle(decodeMs: number, numPrompts: number, spentMs: number): void {
    if (decodeMs === 0) return;
    const { stretchPerPrompt, savedPerStep, maxSaved } = this.policy;
    const earned = numPrompts > 0 ? stretchPerPrompt * numPrompts : savedPerStep;
    const left = this.#saved + earned - spentMs / decodeMs;
    this.#saved = Math.min(Math.max(left, 0), maxSaved);
  }
}
