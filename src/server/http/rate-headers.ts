/** OpenAI's headers about rates. */

export type RateUnit = 'requests' | 'tokens';
export type Headers = Readonly<Record<string, string>>;

/** Where an account stands. */
interface Standing {
  readonly remainingPoints: number;
  /** Milliseconds until all of it comes back. */
  readonly msBeforeNext: number;
}

export const RATE_HEADERS: readonly string[] = ['requests', 'tokens'].flatMap((unit) =>
  ['limit', 'remaining', 'reset'].map((what) => `x-ratelimit-${what}-${unit}`),
);

export function rateHeaders(unit: RateUnit, limit: number, standing: Standing): Headers {
  return {
    [`x-ratelimit-limit-${unit}`]: `${limit}`,
    [`x-ratelimit-remaining-${unit}`]: `${standing.remainingPoints}`,
    [`x-ratelimit-reset-${unit}`]: goDuration(standing.msBeforeNext),
  };
}

/** As Go writes durations: `12ms`, `1.5s`, `6m0s`. */
export function goDuration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole % 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
