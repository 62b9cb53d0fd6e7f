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

  describe('behind a long text, all of which is read for each chunk', () => {
    const [cached, wanted] = [8000, 200];

    /** A decode run takes 8 ms, a chunk 19 ms and 4 for each of its tokens: as of SmolLM2-135M on two cores. */
    function trained(): CostModel {
      const costs = new CostModel();
      for (let index = 0; index < 200; index++) {
        const start = (index * 37) % 9000;
        const length = 1 + ((index * 7) % 30);
        const decode = [{ start: 0, length: 1 }];
        costs.observe({ decode, prefill: [], verify: [], ms: 8 });
        const ms = 8 + start * 0.0024 + length * (0.42 + start * 0.00043);
        costs.observe({ decode, prefill: [{ start, length }], verify: [], ms });
      }
      return costs;
    }

    /** Tokens that each step computes until all are. */
    function stepsOf(numPrompts: number, targetMs = Infinity): number[] {
      const sequence = new Sequence(
        engineRequest({ promptTokenIds: new Int32Array(cached + wanted) }),
      );
      sequence.numComputedTokens = cached;
      const [costs, budget] = [trained(), new PrefillBudget(DEFAULT_PREFILL_POLICY)];
      const steps: number[] = [];
      while (sequence.numUncomputedTokens > 1) {
        const [chunk] = planPrefill({
          sequences: [sequence],
          numPrompts,
          decode: [{ start: 0 }],
          mayHoldUp: false,
          targetMs,
          maxTokens: 512,
          budget,
          costs,
        });
        steps.push(chunk?.numTokens ?? 0);
        sequence.numComputedTokens += chunk?.numTokens ?? 0;
      }
      return steps;
    }

    it('has a few chunks that are worth it, and not a small one in each step', () => {
      const steps = stepsOf(1);
      const chunks = steps.filter((numTokens) => numTokens > 0);
      // All but what is left at the end.
      expect(Math.min(...chunks.slice(0, -1))).toBeGreaterThanOrEqual(10);
      expect(chunks.length / steps.length).toBeLessThan(0.12);
      expect(steps.length).toBeLessThan(260);
    });

    it('makes haste when prompts wait', () => {
      expect(stepsOf(8).length).toBeLessThan(stepsOf(1).length / 3);
    });

    it('has a chunk in each step where a target leaves time for it', () => {
      const steps = stepsOf(1, 80);
      expect(Math.min(...steps)).toBeGreaterThan(0);
      expect(steps.length).toBeLessThan(25);
    });

    it('misses a target that it must miss in one step of ten at most', () => {
      const steps = stepsOf(1, 15);
      expect(steps.filter((numTokens) => numTokens > 0).length / steps.length).toBeLessThan(0.1);
    });
  });
});
