export interface Summary {
  readonly mean: number;
  readonly median: number;
  /** Population standard deviation. */
  readonly std: number;
  /** By percentage, such as 99. */
  readonly percentiles: ReadonlyMap<number, number>;
}

/** Summarizes values. Every statistic is 0 without values, as in `vllm bench serve`. */
export function summarize(values: readonly number[], percentages: readonly number[]): Summary {
  const sorted = Float64Array.from(values.length === 0 ? [0] : values).sort();
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sorted.length;
  return {
    mean,
    median: percentile(sorted, 50),
    std: Math.sqrt(variance),
    percentiles: new Map(percentages.map((p) => [p, percentile(sorted, p)])),
  };
}

/**
 * The value that `percentage` per cent of the values do not exceed, interpolated between the two
 * nearest.
 * @param sorted ascending, not empty
 */
export function percentile(sorted: ArrayLike<number>, percentage: number): number {
  const position = ((sorted.length - 1) * percentage) / 100;
  const below = Math.floor(position);
  const lower = sorted[below] ?? NaN;
  const upper = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return lower + (upper - lower) * (position - below);
}
