import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/scheduling/cost-model.ts';
import { RunningFit } from '../../../src/engine/scheduling/online-regression.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const sequence = new Sequence(engineRequest());
const plan = (numRows: number, length: number) => ({
  cacheOperations: [],
  decode: Array.from({ length: numRows }, () => ({ sequence, position: 0 })),
  prefill: length > 0 ? [[{ sequence, start: 0, length }]] : [],
  numBatchedTokens: numRows + length,
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
  it('learns what prefill costs, alone and beside decode runs', () => {
    const costs = new CostModel();
    for (let step = 0; step < 300; step++) {
      const length = 16 + ((step * 31) % 400);
      costs.observe(plan(0, length), { decodeMs: 0, prefillMs: [10 + 0.5 * length] });
      costs.observe(plan(4, 0), { decodeMs: 20, prefillMs: [] });
      const mixedMs = 20 + 0.3 * length;
      costs.observe(plan(4, length), { decodeMs: 0, prefillMs: [0], mixedMs });
    }
    const chunk = [{ start: 0, length: 100 }];
    expect(costs.prefillMs(chunk)).toBeCloseTo(60, -0.5);
    expect(costs.besideDecodeMs(chunk)).toBeCloseTo(30, -0.5);
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
