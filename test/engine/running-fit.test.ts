import { describe, expect, it } from 'vitest';
import { CostModel } from '../../src/engine/cost-model.ts';
import { RunningFit } from '../../src/engine/running-fit.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { engineRequest } from '../support/engine-requests.ts';

const sequence = new Sequence(engineRequest());
const plan = (start: number, length: number) => ({
  cacheOperations: [],
  decode: [],
  prefill: [[{ sequence, start, length }]],
  numBatchedTokens: length,
});

describe('the running fit', () => {
  it('finds the line behind its samples, and follows when it changes', () => {
    const fit = new RunningFit([1, 1]);
    for (let x = 0; x < 100; x++) fit.add([1, x % 17], 12 + 3 * (x % 17));
    expect(fit.predict([1, 40])).toBeCloseTo(132, 0);
    for (let x = 0; x < 1500; x++) fit.add([1, x % 17], 6 + (x % 17));
    expect(fit.predict([1, 40])).toBeCloseTo(46, 0);
  });

  it('keeps its expectation of what samples say nothing about', () => {
    const fit = new RunningFit([5, 2]);
    for (let count = 0; count < 50; count++) fit.add([1, 0], 9);
    expect(fit.predict([1, 0])).toBeCloseTo(9, 0);
    expect(fit.predict([1, 10]) - fit.predict([1, 0])).toBeCloseTo(20, 1);
  });

  it('never comes to negative costs', () => {
    const fit = new RunningFit([1, 1]);
    for (let x = 0; x < 100; x++) fit.add([1, x % 9], 50 - (x % 9));
    expect(fit.predict([0, 1])).toBe(0);
  });
});

describe('the cost model', () => {
  it('says how many tokens fit a time', () => {
    const costs = new CostModel();
    for (let step = 0; step < 200; step++) {
      const length = 16 + ((step * 31) % 400);
      costs.observe(plan(0, length), { decodeMs: 0, prefillMs: [10 + 0.5 * length] });
    }
    const tokens = costs.prefillTokensWithin(60, 0, 512);
    expect(tokens).toBeGreaterThan(90);
    expect(tokens).toBeLessThan(110);
    expect(costs.prefillTokensWithin(5, 0, 512)).toBe(0);
    expect(costs.prefillTokensWithin(Infinity, 0, 512)).toBe(512);
  });

  it('is not thrown off by an interruption', () => {
    const costs = new CostModel();
    for (let step = 0; step < 100; step++) {
      costs.observe(plan(0, 100), { decodeMs: 0, prefillMs: [60] });
    }
    costs.observe(plan(0, 100), { decodeMs: 0, prefillMs: [60_000] });
    expect(costs.prefillMs([{ start: 0, length: 100 }])).toBeLessThan(70);
  });
});
