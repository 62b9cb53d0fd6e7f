import type { CostModel } from '../costs/cost-model.ts';
import type { PrefillBudget } from './prefill-budget.ts';
import type { Sequence } from '../sequence.ts';
import { type Segment, segmentOf } from '../step.ts';

export interface PrefillRequest {
  /** With a slot and more than one token to compute, in order. */
  readonly sequences: readonly Sequence[];
  /** Prompts yet to be computed: those, and the ones that could have a slot and have none yet. */
  readonly numPrompts: number;
  /** What the step decodes. */
  readonly decode: readonly Pick<Segment, 'start'>[];
  readonly maxTokens: number;
  readonly budget: PrefillBudget;
  readonly costs: CostModel;
}

/**
 * The prefill of one step. If nothing decodes, prompts are computed whole up to `maxTokens`.
 * Otherwise prefill takes only the time that the budget gives it, by the measured cost of runs.
 */
export function planPrefill(request: PrefillRequest): Segment[] {
  const { sequences, numPrompts, decode, maxTokens, budget, costs } = request;
  const decodeMs = costs.decodeMs(decode);
  const availableMs = budget.availableMs(decodeMs, numPrompts);
  let spentMs = 0;
  let budgetTokens = maxTokens;
  const chunks: Segment[] = [];
  for (const sequence of sequences) {
    const start = sequence.numComputedTokens;
    const wanted = Math.min(sequence.numUncomputedTokens, budgetTokens);
    const atLeast = chunks.length === 0 ? Math.min(budget.minChunk, wanted) : 0;
    // The first chunk is mixed with the decode run: both read the weights once.
    const isMixed = decode.length > 0 && (costs.runsStepsWhole || chunks.length === 0);
    const costMs = (length: number) => {
      const span = [{ start, length }];
      return isMixed ? costs.mixedPrefillMs(span) : costs.prefillMs(span);
    };
    const length = Math.max(atLeast, mostWithin(availableMs - spentMs, wanted, costMs));
    if (length <= 0) break;
    chunks.push(segmentOf(sequence, length));
    spentMs += costMs(length);
    budgetTokens -= length;
  }
  budget.settle(decodeMs, numPrompts, spentMs);
  return chunks;
}

/** The most tokens, up to `limit`, whose cost is within `budgetMs`; may be 0. */
function mostWithin(budgetMs: number, limit: number, costMs: (tokens: number) => number): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const tokens = Math.ceil((low + high) / 2);
    if (costMs(tokens) <= budgetMs) low = tokens;
    else high = tokens - 1;
  }
  return low;
}
