import { describe, expect, it } from 'vitest';
import { computeMetrics } from '../../src/bench/bench-metrics.ts';
import { record } from './support/records.ts';

const options = { goodput: {}, percentiles: [50, 99] };

describe('computeMetrics', () => {
  it('agrees with values computed by hand', () => {
    const records = [
      // TTFT 100, gaps 50 and 70, in all 220.
      record(0, [100, 150, 220]),
      // TTFT 300, gap 100, in all 400.
      record(1000, [1300, 1400]),
    ];
    const metrics = computeMetrics(records, 2000, options);
    expect(metrics).toMatchObject({
      completed: 2,
      failed: 0,
      totalInputTokens: 20,
      totalOutputTokens: 5,
      requestThroughput: 1,
      requestGoodput: null,
      outputThroughput: 2.5,
      totalTokenThroughput: 12.5,
      maxOutputTokensPerSecond: 3,
      maxConcurrentRequests: 1,
    });
    const { ttft, tpot, itl, e2el } = metrics.latencies;
    expect(ttft.mean).toBe(200);
    expect(tpot.mean).toBe((60 + 100) / 2);
    expect([itl.mean, itl.median]).toEqual([(50 + 70 + 100) / 3, 70]);
    expect(e2el.mean).toBe(310);
    expect(e2el.percentiles.get(99)).toBeCloseTo(220 + 180 * 0.99, 9);
  });

  it('counts failures, and leaves them out of everything else', () => {
    const failed = record(0, [10], { error: 'HTTP 500' });
    const metrics = computeMetrics([record(0, [100]), failed], 1000, options);
    expect(metrics).toMatchObject({ completed: 1, failed: 1, totalOutputTokens: 1 });
    expect(metrics.latencies.ttft.mean).toBe(100);
  });

  it('counts overlapping requests, but not one that follows on another', () => {
    const concurrent = (...records: ReturnType<typeof record>[]) =>
      computeMetrics(records, 1000, options).maxConcurrentRequests;
    expect(concurrent(record(0, [10]), record(10, [20]), record(20, [30]))).toBe(1);
    expect(concurrent(record(0, [10]), record(9, [20]), record(5, [30]))).toBe(3);
  });

  it('spreads the tokens of a request over its pieces', () => {
    const bundled = record(0, [500, 1500], { outputTokens: 8 });
    expect(computeMetrics([bundled], 2000, options).maxOutputTokensPerSecond).toBe(4);
  });

  it('is good only if it keeps every limit', () => {
    const records = [
      record(0, [100, 110, 120]),
      record(0, [300, 310]),
      record(0, [100, 200]),
      record(0, [90]),
    ];
    const goodput = (limits: object) =>
      computeMetrics(records, 1000, { ...options, goodput: limits }).requestGoodput;
    expect(goodput({ ttft: 200 })).toBe(3);
    expect(goodput({ ttft: 200, tpot: 50 })).toBe(2);
    expect(goodput({ e2el: 90 })).toBe(1);
  });
});
