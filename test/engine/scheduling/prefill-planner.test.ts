import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/costs/cost-model.ts';
import {
  DEFAULT_PREFILL_POLICY,
  PrefillBudget,
} from '../../../src/engine/scheduling/prefill-budget.ts';
import {
  planPrefill,
  type PrefillRequest,
} from '../../../src/engine/scheduling/prefill-planner.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const DECODE = Array.from({ length: 8 }, () => ({ start: 0 }));

/** Tokens of one long prompt that are computed with eight decoding sequences. */
function tokensOfPrompt(changes: Partial<PrefillRequest>): number {
  const sequence = new Sequence(engineRequest({ promptTokenIds: new Int32Array(1000) }));
  const chunks = planPrefill({
    sequences: [sequence],
    numPrompts: 1,
    decode: DECODE,
    mayHoldUp: false,
    targetMs: Infinity,
    maxTokens: 512,
    budget: new PrefillBudget(DEFAULT_PREFILL_POLICY),
    costs: new CostModel(),
    ...changes,
  });
  return chunks.reduce((sum, { numTokens }) => sum + numTokens, 0);
}

describe('the prefill of a step', () => {
  it('takes a prompt as far as the budget goes when nobody decodes', () => {
    expect(tokensOfPrompt({ decode: [] })).toBe(512);
  });

  it('disturbs those who decode little for a single prompt', () => {
    expect(tokensOfPrompt({})).toBe(DEFAULT_PREFILL_POLICY.minChunk);
  });

  it('makes haste when prompts wait that could have a slot', () => {
    const few = tokensOfPrompt({ numPrompts: 5 });
    expect(few).toBeGreaterThan(DEFAULT_PREFILL_POLICY.minChunk);
    expect(tokensOfPrompt({ numPrompts: 20 })).toBeGreaterThan(2 * few);
  });

  it('takes what it needs where nobody minds', () => {
    expect(tokensOfPrompt({ mayHoldUp: true })).toBe(512);
  });

  it('keeps within a target that is given, however many wait', () => {
    const costs = new CostModel();
    const targetMs = costs.decodeMs(DECODE) + costs.prefillMs([{ start: 0, length: 100 }]);
    expect(tokensOfPrompt({ targetMs, numPrompts: 20, costs })).toBe(100);
  });
});
