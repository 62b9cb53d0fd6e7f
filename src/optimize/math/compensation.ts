import { damped, inverseFactor } from './cholesky.ts';

/** As GPTQ's authors have it. */
const DAMPING = 0.01;

/** Replaces weights of rows, and moves what each loses into the columns that come after it. */
export class Compensation {
  readonly #columns: number;
  readonly #upper: Float64Array;

  /** @param gram [columns, columns], the sum of x x^T over inputs x */
  constructor(gram: Float64Array) {
    this.#columns = Math.sqrt(gram.length);
    this.#upper = inverseFactor(damped(gram, this.#columns, DAMPING), this.#columns);
  }

  /**
   * Goes through a row from its first column to its last. The error of each new weight is made up for by
   * the weights after it, so that the row's products with inputs change least (Frantar et al.: "GPTQ",
   * ICLR 2023).
   * @param row changed in place
   * @param replace gives the weight that comes to a column; the row has what it is by then
   */
  apply(row: Float64Array, replace: (column: number) => number): void {
    const n = this.#columns;
    const upper = this.#upper;
    for (let column = 0; column < n; column++) {
      const at = column * n;
      const before = row[column] ?? 0;
      const after = replace(column);
      row[column] = after;
      if (after === before) continue;
      const error = (before - after) / (upper[at + column] ?? 1);
      for (let i = column + 1; i < n; i++) {
        row[i] = (row[i] ?? 0) - error * (upper[at + i] ?? 0);
      }
    }
  }
}
