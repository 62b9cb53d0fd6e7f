import type { CostModel } from '../costs/cost-model.ts';
import { mostWithin } from '../costs/most-within.ts';
import type { PrefillBudget } from './prefill-budget.ts';
import type { Sequence } from '../sequence.ts';
import { type Segment, segmentOf } from '../step.ts';

export interface PrefillRequest {
  /** With a slot and more than one token to compute, in order. */
  readonly sequences: readonly Sequence[];
  /** Prompts yet to be computed: those, and the ones that could have a slot and have none yet. */
  readonly numPrompts: number;
  /** Segments that the step decodes. */
  readonly decode: readonly Pick<Segment, 'start'>[];
  /** Whether what is decoded may be held up for as long as the prompts take. */
  readonly mayHoldUp: boolean;
  /** Milliseconds that the step may take; Infinity leaves it to the budget. */
  readonly targetMs: number;
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
  const decodeMs = request.mayHoldUp ? 0 : costs.decodeMs(decode);
  const availableMs = budget.availableMs(decodeMs, numPrompts, request.targetMs);
  const paceMs = request.targetMs < Infinity ? Math.max(availableMs, decodeMs) : decodeMs;
  let spentMs = 0;
  let budgetTokens = maxTokens;
  const chunks: Segment[] = [];
  for (const sequence of sequences) {
    const start = sequence.numComputedTokens;
    // An image may have taken more than was left.
    const wanted = Math.max(0, Math.min(sequence.numUncomputedTokens, budgetTokens));
    // The first chunk is mixed with the decode run: both read the weights once.
    const isMixed = decode.length > 0 && (costs.runsStepsWhole || chunks.length === 0);
    const costMs = (length: number) => {
      const span = [{ start, length }];
      return isMixed ? costs.mixedPrefillMs(span) : costs.prefillMs(span);
    };
    const isFirst = chunks.length === 0 && decodeMs > 0;
    const least = isFirst ? budget.leastTokens(paceMs, wanted, costMs) : 0;
    const waits = isFirst && least === 0;
    const length = waits ? 0 : Math.max(least, mostWithin(availableMs - spentMs, wanted, costMs));
    if (length === 0) break;
    const chunk = segmentOf(sequence, length);
    chunks.push(chunk);
    spentMs += costMs(chunk.numTokens);
    budgetTokens -= chunk.numTokens;
  }
  budget.settle(decodeMs, numPrompts, spentMs);
  return chunks;
}

/**
 * Whether it computes a single token, either a sampled one or the last of a prompt. A prompt that
 * is scored needs the logits of every token, and is computed token by token.
 */
export function isDecoding(sequence: Sequence): boolean {
  return sequence.scoresPrompt || sequence.numUncomputedTokens === 1;
}

/** Tokens that a sequence would compute in one step if the budget allowed. */
export function numWantedTokens(sequence: Sequence): number {
  return isDecoding(sequence) ? 1 : sequence.numUncomputedTokens;
}
