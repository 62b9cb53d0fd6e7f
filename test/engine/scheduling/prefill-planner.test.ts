import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/scheduling/cost-model.ts';
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

const DECODE = Array.from({ length: 8 }, () => ({ sequence: null, position: 0 }));

/** Tokens of one long prompt that go beside eight decoding rows. */
function tokensBeside(changes: Partial<PrefillRequest>): number {
  const sequence = new Sequence(engineRequest({ promptTokenIds: new Int32Array(1000) }));
  const runs = planPrefill({
    sequences: [sequence],
    numPrompts: 1,
    decode: DECODE,
    maxTokens: 512,
    budget: new PrefillBudget(DEFAULT_PREFILL_POLICY, null),
    costs: new CostModel(),
    grow: () => true,
    ...changes,
  });
  return runs.flat().reduce((sum, { length }) => sum + length, 0);
}

describe('the prefill of an iteration', () => {
  it('takes a prompt as far as the budget goes when nobody decodes', () => {
    expect(tokensBeside({ decode: [] })).toBe(512);
  });

  it('disturbs those who decode little for a single prompt', () => {
    expect(tokensBeside({})).toBe(DEFAULT_PREFILL_POLICY.minChunk);
  });

  it('makes haste when prompts wait that could have a row', () => {
    const few = tokensBeside({ numPrompts: 5 });
    expect(few).toBeGreaterThan(DEFAULT_PREFILL_POLICY.minChunk);
    expect(tokensBeside({ numPrompts: 20 })).toBeGreaterThan(2 * few);
  });

  it('keeps within a target that is given, however many wait', () => {
    const costs = new CostModel();
    const targetItlMs = costs.decodeMs(DECODE) + costs.prefillMs([{ start: 0, length: 100 }]);
    const budget = new PrefillBudget(DEFAULT_PREFILL_POLICY, targetItlMs);
    expect(tokensBeside({ budget, numPrompts: 20, costs })).toBe(100);
  });
});
