import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { RATE_SECONDS, SlidingRate } from '../../src/observability/sliding-rate.ts';

test('is what came in the last whole seconds, by second', () => {
  const rate = new SlidingRate();
  rate.add(30, 1_000_500);
  // The second that is going on does not count yet.
  expect(rate.perSecond(1_000_900)).toBe(0);
  expect(rate.perSecond(1_001_000)).toBe(3);
  expect(rate.perSecond(1_010_999)).toBe(3);
  expect(rate.perSecond(1_011_000)).toBe(0);
});

test('agrees with a count of all that came, whenever it is asked', () => {
  const steps = fc.array(
    fc.record({ afterMs: fc.integer({ min: 0, max: 15_000 }), count: fc.nat(100) }),
  );
  fc.assert(
    fc.property(steps, (list) => {
      const rate = new SlidingRate();
      const all: { second: number; count: number }[] = [];
      let timeMs = 5000;
      for (const { afterMs, count } of list) {
        timeMs += afterMs;
        rate.add(count, timeMs);
        all.push({ second: Math.floor(timeMs / 1000), count });
        const now = Math.floor(timeMs / 1000);
        const recent = all.filter(({ second }) => second < now && second >= now - RATE_SECONDS);
        const sum = recent.reduce((total, one) => total + one.count, 0);
        expect(rate.perSecond(timeMs)).toBeCloseTo(sum / RATE_SECONDS, 9);
      }
    }),
  );
});
