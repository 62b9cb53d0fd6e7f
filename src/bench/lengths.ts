import type { Random } from './random.ts';

export const LENGTH_DISTRIBUTIONS = ['fixed', 'uniform', 'lognormal'] as const;

/** How the lengths of prompts and outputs spread around their mean. */
export interface LengthDistribution {
  readonly kind: (typeof LENGTH_DISTRIBUTIONS)[number];
  /** Tokens. */
  readonly mean: number;
  /** For `uniform`: lengths are between mean x (1 - ratio) and mean x (1 + ratio). */
  readonly rangeRatio: number;
}

/** Mean lengths of prompts and answers in ShareGPT, as the vLLM paper gives them (SOSP '23). */
export const SHAREGPT_MEANS = { input: 161, output: 338 } as const;

/** Standard deviation of the logarithm: a tail like that of ShareGPT, median 0.61 of the mean. */
const LOG_DEVIATION = 1;

/** The longest length in terms of the mean: one in four hundred is cut. */
const LONGEST = 10;

/** One length in tokens, at least 1. */
export function drawLength({ kind, mean, rangeRatio }: LengthDistribution, random: Random): number {
  switch (kind) {
    case 'fixed':
      return mean;
    case 'uniform': {
      const spread = Math.floor(mean * rangeRatio);
      return Math.max(1, random.integer(mean - spread, mean + spread));
    }
    case 'lognormal': {
      const location = Math.log(mean) - LOG_DEVIATION ** 2 / 2;
      const length = Math.exp(location + LOG_DEVIATION * random.normal());
      return Math.min(Math.max(1, Math.round(length)), mean * LONGEST);
    }
  }
}
