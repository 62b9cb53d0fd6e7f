import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_PREFILL_POLICY,
  PrefillBudget,
} from '../../../src/engine/scheduling/prefill-budget.ts';

const DECODE_MS = 20;
const { stretchPerPrompt, savedPerStep, maxSaved } = DEFAULT_PREFILL_POLICY;

function budgetAfter(numQuietSteps: number): PrefillBudget {
  const budget = new PrefillBudget(DEFAULT_PREFILL_POLICY);
  for (let step = 0; step < numQuietSteps; step++) budget.settle(DECODE_MS, 0, 0);
  return budget;
}

describe('the time for prefill beside a decode run', () => {
  it('is a share of that run for each prompt that waits', () => {
    const budget = budgetAfter(0);
    expect(budget.availableMs(DECODE_MS, 1)).toBeCloseTo(DECODE_MS * stretchPerPrompt);
    expect(budget.availableMs(DECODE_MS, 4)).toBeCloseTo(DECODE_MS * stretchPerPrompt * 4);
  });

  it('grows while no prompt waits, and not for ever', () => {
    const share = (numQuietSteps: number) =>
      budgetAfter(numQuietSteps).availableMs(DECODE_MS, 1) / DECODE_MS;
    expect(share(10)).toBeCloseTo(stretchPerPrompt + 10 * savedPerStep);
    expect(share(10_000)).toBeCloseTo(stretchPerPrompt + maxSaved);
  });

  it('is spent once', () => {
    const budget = budgetAfter(10_000);
    budget.settle(DECODE_MS, 1, budget.availableMs(DECODE_MS, 1));
    expect(budget.availableMs(DECODE_MS, 1)).toBeCloseTo(DECODE_MS * stretchPerPrompt);
  });

  it('lengthens iterations on average by no more than the policy gives', () => {
    const step = fc.record({
      numPrompts: fc.nat(3),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const budget = new PrefillBudget(DEFAULT_PREFILL_POLICY);
        let [given, spent] = [0, 0];
        for (const { numPrompts, share } of steps) {
          const ms = numPrompts === 0 ? 0 : share * budget.availableMs(DECODE_MS, numPrompts);
          budget.settle(DECODE_MS, numPrompts, ms);
          given += numPrompts === 0 ? savedPerStep : stretchPerPrompt * numPrompts;
          spent += ms / DECODE_MS;
          expect(spent).toBeLessThanOrEqual(given + 1e-6);
        }
      }),
    );
  });

  it('is what a given target leaves, whatever was saved', () => {
    const budget = new PrefillBudget(DEFAULT_PREFILL_POLICY);
    for (let step = 0; step < 100; step++) budget.settle(DECODE_MS, 0, 0);
    expect(budget.availableMs(DECODE_MS, 3, 50)).toBe(30);
  });

  it('has no bound where nothing decodes', () => {
    expect(budgetAfter(0).availableMs(0, 1)).toBe(Infinity);
  });
});
