import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { percentile, summarize } from '../../src/bench/statistics.ts';

describe('summarize', () => {
  it('agrees with values computed by hand', () => {
    const { mean, median, std, percentiles } = summarize([4, 1, 3, 2], [25, 90, 100]);
    expect(mean).toBe(2.5);
    expect(median).toBe(2.5);
    // Deviations 1.5, 0.5, 0.5, 1.5: the squares sum to 5.
    expect(std).toBeCloseTo(Math.sqrt(5 / 4), 12);
    // Positions 0.75, 2.7 and 3 of 1, 2, 3, 4.
    expect([...percentiles]).toEqual([
      [25, 1.75],
      [90, 3.7],
      [100, 4],
    ]);
  });

  it('is the value itself of one, and 0 of none', () => {
    expect(summarize([7], [99])).toEqual({
      mean: 7,
      median: 7,
      std: 0,
      percentiles: new Map([[99, 7]]),
    });
    expect(summarize([], [99]).percentiles.get(99)).toBe(0);
  });

  it('sorts by value, not by spelling', () => {
    expect(summarize([10, 9, 100], [0, 100]).percentiles).toEqual(
      new Map([
        [0, 9],
        [100, 100],
      ]),
    );
  });
});

describe('percentile', () => {
  it('rises with the percentage and stays within the values', () => {
    const finite = fc.double({ noNaN: true, min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(
        fc.array(finite, { minLength: 1 }),
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 100 }),
        (values, p, q) => {
          const sorted = Float64Array.from(values).sort();
          const [low, high] = [
            percentile(sorted, Math.min(p, q)),
            percentile(sorted, Math.max(p, q)),
          ];
          expect(low).toBeLessThanOrEqual(high + 1e-6);
          expect(low).toBeGreaterThanOrEqual(Math.min(...values) - 1e-6);
          expect(high).toBeLessThanOrEqual(Math.max(...values) + 1e-6);
        },
      ),
    );
  });
});
