import { describe, expect, it } from 'vitest';
import { arrivalTimes } from '../../src/bench/arrivals.ts';
import { Random } from '../../src/bench/random.ts';
import { summarize } from '../../src/bench/statistics.ts';

const COUNT = 20_000;

function gapsOf(times: readonly number[]): number[] {
  return times.map((time, index) => time - (times[index - 1] ?? 0));
}

describe('arrivalTimes', () => {
  it('ends after exactly count / rate seconds, in order', () => {
    const times = arrivalTimes(100, { rate: 4, burstiness: 1 }, new Random(3));
    expect(times.at(-1)).toBeCloseTo(25_000, 6);
    expect(gapsOf(times).every((gap) => gap >= 0)).toBe(true);
  });

  // The coefficient of variation of a gamma distribution is 1 / sqrt(shape).
  it.each([0.25, 1, 4])('spreads as a gamma process of burstiness %d', (burstiness) => {
    const times = arrivalTimes(COUNT, { rate: 10, burstiness }, new Random(1));
    const { mean, std } = summarize(gapsOf(times), []);
    expect(mean).toBeCloseTo(100, 6);
    const variation = std / mean;
    expect(variation).toBeGreaterThan(0.95 / Math.sqrt(burstiness));
    expect(variation).toBeLessThan(1.05 / Math.sqrt(burstiness));
  });

  it('has the exponential tail of a Poisson process', () => {
    const gaps = gapsOf(arrivalTimes(COUNT, { rate: 10, burstiness: 1 }, new Random(2)));
    const longer = gaps.filter((gap) => gap > 200).length / COUNT;
    expect(longer).toBeGreaterThan(Math.exp(-2) * 0.93);
    expect(longer).toBeLessThan(Math.exp(-2) * 1.07);
  });

  it('keeps equal distances at infinite burstiness', () => {
    const times = arrivalTimes(3, { rate: 2, burstiness: Infinity }, new Random(1));
    expect(times).toEqual([500, 1000, 1500]);
  });

  it('sends all at once at an infinite rate', () => {
    expect(arrivalTimes(3, { rate: Infinity, burstiness: 1 }, new Random(1))).toEqual([0, 0, 0]);
  });

  it('ramps up from the first rate to the last', () => {
    const gaps = (strategy: 'linear' | 'exponential') => {
      const rampUp = { strategy, startRate: 1, endRate: 101 };
      const options = { rate: Infinity, burstiness: Infinity, rampUp };
      return gapsOf(arrivalTimes(3, options, new Random(1)));
    };
    expect(gaps('linear').map((gap) => Math.round(1000 / gap))).toEqual([1, 51, 101]);
    expect(gaps('exponential').map((gap) => Math.round(1000 / gap))).toEqual([1, 10, 101]);
  });

  it('repeats with the seed, and only with it', () => {
    const draw = (seed: number) => arrivalTimes(5, { rate: 1, burstiness: 1 }, new Random(seed));
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });
});
