import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LatencyHistogram } from '../../../src/observability/recent/latency-histogram.ts';

const times = fc.array(fc.double({ min: 0.002, max: 1e6, noNaN: true }), {
  minLength: 1,
  maxLength: 200,
});

function histogramOf(ms: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const each of ms) histogram.add(each);
  return histogram;
}

test('a quantile is that of the times, within 5%', () => {
  fc.assert(
    fc.property(times, fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1), (ms, share) => {
      const sorted = ms.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(share * ms.length) - 1)] ?? NaN;
      const found = histogramOf(ms).quantile(share);
      expect(found / exact).toBeGreaterThan(0.95);
      expect(found / exact).toBeLessThan(1.05);
    }),
  );
});

test('two together are the histogram of all their times', () => {
  fc.assert(
    fc.property(times, times, (some, others) => {
      const sum = histogramOf(some);
      sum.addAll(histogramOf(others));
      expect(sum).toEqual(histogramOf([...some, ...others]));
    }),
  );
});

test('any time is counted: none, one before the epoch of its clock, hours', () => {
  const histogram = histogramOf([0, -1, NaN, 1e12]);
  expect(histogram.size).toBe(4);
  expect(histogram.quantile(0.5)).toBeLessThan(0.0011);
  expect(histogram.quantile(1)).toBeGreaterThan(3_600_000);
  histogram.clear();
  expect(histogram.size).toBe(0);
  expect(histogram.quantile(0.5)).toBeNaN();
});
