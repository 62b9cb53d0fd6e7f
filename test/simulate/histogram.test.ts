import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { percentile } from '../../src/bench/statistics.ts';
import { Histogram } from '../../scripts/simulate/histogram.ts';

describe('the histogram', () => {
  it('knows percentiles within one per cent', () => {
    const values = fc.array(fc.double({ min: 0.1, max: 1e6, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, (latencies) => {
        const histogram = new Histogram();
        for (const latency of latencies) histogram.add(latency);
        const sorted = [...latencies].sort((a, b) => a - b);
        for (const at of [0, 100]) {
          expect(histogram.percentile(at) / percentile(sorted, at)).toBeCloseTo(1, 1.9);
        }
        expect(histogram.count).toBe(latencies.length);
      }),
    );
  });

  it('gives the cumulative distribution', () => {
    const histogram = new Histogram();
    for (const latency of [1, 1, 10, 100]) histogram.add(latency);
    const shares = histogram.cumulative().map(({ ms, share }) => [Math.round(ms), share]);
    expect(shares).toEqual([
      [1, 0.5],
      [10, 0.75],
      [100, 1],
    ]);
  });

  it('has no percentile of no values', () => {
    expect(new Histogram().percentile(50)).toBeNaN();
  });
});
