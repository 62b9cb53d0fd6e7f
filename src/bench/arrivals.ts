import type { Random } from './random.ts';

export const RAMP_UP_STRATEGIES = ['linear', 'exponential'] as const;

/** A rate that grows from the first request to the last. */
export interface RampUp {
  readonly strategy: (typeof RAMP_UP_STRATEGIES)[number];
  /** Requests per second. */
  readonly startRate: number;
  readonly endRate: number;
}

export interface ArrivalOptions {
  /** Requests per second; Infinity sends all at once. */
  readonly rate: number;
  /**
   * Shape of the gamma distribution of the intervals: 1 is a Poisson process, below 1 requests come
   * in bursts, above 1 more evenly, and Infinity at equal distances.
   */
  readonly burstiness: number;
  /** Takes the place of `rate`. */
  readonly rampUp?: RampUp;
}

/**
 * When each of `count` requests is due, in milliseconds from the start, ascending. With a constant
 * rate the times are stretched so that the last is due after exactly count / rate seconds: runs with
 * other seeds then offer the same load.
 */
export function arrivalTimes(count: number, options: ArrivalOptions, random: Random): number[] {
  let clock = 0;
  const times = Array.from({ length: count }, (_, index) => {
    clock += interval(rateAt(index, count, options), options.burstiness, random);
    return clock * 1000;
  });
  if (options.rampUp || clock === 0) return times;
  const stretch = count / options.rate / clock;
  return times.map((time) => time * stretch);
}

function rateAt(index: number, count: number, { rate, rampUp }: ArrivalOptions): number {
  if (!rampUp) return rate;
  const { strategy, startRate, endRate } = rampUp;
  const progress = index / Math.max(count - 1, 1);
  return strategy === 'linear'
    ? startRate + (endRate - startRate) * progress
    : startRate * (endRate / startRate) ** progress;
}

/** Seconds until the next request. */
function interval(rate: number, burstiness: number, random: Random): number {
  if (rate === Infinity) return 0;
  if (burstiness === Infinity) return 1 / rate;
  return random.gamma(burstiness, 1 / (rate * burstiness));
}
