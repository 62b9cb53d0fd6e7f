/** Weight of a sample relative to the one after it: about the last two hundred count. */
const DECAY = 0.995;
/** How many samples the initial weights are worth. */
const PRIOR_SAMPLES = 0.05;
/** How many of the last samples say whether all of them are off to the same side. */
const DRIFT_SAMPLES = 8;

/**
 * A linear fit that follows its samples: ridge regression towards the initial weights, over
 * samples that fade with age. A weight that recent samples say nothing about keeps its initial
 * value.
 *
 * By age alone, four times too much takes 350 samples to come down to one and a half times. So samples
 * fade faster while what comes is off to one side, up or down alike. Being off is measured by
 * `(value - predicted) / (value + predicted)`: from -1 to 1, the same for half and for double, and
 * bounded for a value of 0. Its mean over the last few is the drift, of which noise and one
 * interruption leave nothing much. A share of `drift ** 2` fades with each sample: below 15% to one
 * side that is less than age takes, at double a tenth.
 */
export class OnlineRegression {
  readonly #initial: readonly number[];
  /** Faded sums of x xT, and of x y. */
  readonly #moments: number[][];
  readonly #targets: number[];
  #weights: number[];
  #drift = 0;

  /** @param initial a weight for every feature, none of them 0 */
  constructor(initial: readonly number[]) {
    this.#initial = initial;
    this.#weights = [...initial];
    this.#moments = initial.map(() => initial.map(() => 0));
    this.#targets = initial.map(() => 0);
  }

  predict(features: readonly number[]): number {
    return features.reduce((sum, feature, i) => sum + feature * (this.#weights[i] ?? 0), 0);
  }

  add(features: readonly number[], value: number): void {
    const kept = this.#keptOf(value, this.predict(features));
    for (const [i, feature] of features.entries()) {
      const row = this.#moments[i] ?? [];
      for (const [j, other] of features.entries()) row[j] = (row[j] ?? 0) * kept + feature * other;
      this.#targets[i] = (this.#targets[i] ?? 0) * kept + feature * value;
    }
    this.#weights = this.#solve();
  }

  /** The share of what is known that stays, with a sample more. */
  #keptOf(value: number, predicted: number): number {
    const sum = value + predicted;
    const off = sum > 0 ? (value - predicted) / sum : 0;
    this.#drift += (off - this.#drift) / DRIFT_SAMPLES;
    return Math.min(DECAY, 1 - this.#drift ** 2);
  }

  /** Costs are never negative: a weight that comes out below zero is taken as zero. */
  #solve(): number[] {
    const matrix = this.#moments.map((row, i) => {
      // In units where each initial weight is 1, the prior counts the same for every feature.
      const prior = PRIOR_SAMPLES / (this.#initial[i] ?? 1) ** 2;
      const target = (this.#targets[i] ?? 0) + prior * (this.#initial[i] ?? 0);
      return [...row.map((value, j) => value + (i === j ? prior : 0)), target];
    });
    return solveLinear(matrix).map((weight) => Math.max(0, weight));
  }
}

/** Gauss-Jordan elimination of a small symmetric positive definite system [A | b]. */
function solveLinear(matrix: number[][]): number[] {
  for (const [pivot, pivotRow] of matrix.entries()) {
    const divisor = pivotRow[pivot] ?? 1;
    for (let j = pivot; j < pivotRow.length; j++) pivotRow[j] = (pivotRow[j] ?? 0) / divisor;
    for (const [i, row] of matrix.entries()) {
      if (i === pivot) continue;
      const factor = row[pivot] ?? 0;
      for (let j = pivot; j < row.length; j++) row[j] = (row[j] ?? 0) - factor * (pivotRow[j] ?? 0);
    }
  }
  return matrix.map((row) => row.at(-1) ?? 0);
}
