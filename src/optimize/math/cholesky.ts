/** Positive definite matrices [n, n], row by row, in float64: those that calibration gives. */

/**
 * The lower triangular L with L L^T = `matrix`; what is above the diagonal is 0.
 * @throws {RangeError} if the matrix is not positive definite
 */
export function cholesky(matrix: Float64Array, n: number): Float64Array {
  const lower = new Float64Array(n * n);
  for (let row = 0; row < n; row++) {
    const rowStart = row * n;
    for (let column = 0; column <= row; column++) {
      const columnStart = column * n;
      let sum = matrix[rowStart + column] ?? 0;
      for (let i = 0; i < column; i++) {
        sum -= (lower[rowStart + i] ?? 0) * (lower[columnStart + i] ?? 0);
      }
      if (column < row) {
        lower[rowStart + column] = sum / (lower[columnStart + column] ?? 1);
        continue;
      }
      if (!(sum > 0)) throw new RangeError('the matrix is not positive definite');
      lower[rowStart + row] = Math.sqrt(sum);
    }
  }
  return lower;
}

/** Solves x (L L^T) = b for each row of `rows` [any, n], in place. */
export function solveRows(lower: Float64Array, n: number, rows: Float64Array): void {
  for (let start = 0; start < rows.length; start += n) {
    for (let i = 0; i < n; i++) {
      const at = i * n;
      let sum = rows[start + i] ?? 0;
      for (let j = 0; j < i; j++) sum -= (lower[at + j] ?? 0) * (rows[start + j] ?? 0);
      rows[start + i] = sum / (lower[at + i] ?? 1);
    }
    for (let i = n - 1; i >= 0; i--) {
      const at = i * n;
      const value = (rows[start + i] ?? 0) / (lower[at + i] ?? 1);
      rows[start + i] = value;
      for (let j = 0; j < i; j++) {
        rows[start + j] = (rows[start + j] ?? 0) - (lower[at + j] ?? 0) * value;
      }
    }
  }
}

/**
 * The upper triangular U with U^T U = the inverse of `matrix`. From the last row and column on, the
 * matrix has a factor V V^T with V upper triangular, and U is V's inverse.
 * @throws {RangeError} if the matrix is not positive definite
 */
export function inverseFactor(matrix: Float64Array, n: number): Float64Array {
  const lower = cholesky(matrix.toReversed(), n);
  return invertLower(lower, n).toReversed();
}

function invertLower(lower: Float64Array, n: number): Float64Array {
  const inverse = new Float64Array(n * n);
  for (let row = 0; row < n; row++) {
    const start = row * n;
    const scale = 1 / (lower[start + row] ?? 1);
    for (let i = 0; i < row; i++) {
      const factor = (lower[start + i] ?? 0) * scale;
      if (factor === 0) continue;
      const from = i * n;
      for (let column = 0; column <= i; column++) {
        inverse[start + column] =
          (inverse[start + column] ?? 0) - factor * (inverse[from + column] ?? 0);
      }
    }
    inverse[start + row] = scale;
  }
  return inverse;
}

/**
 * A copy with a share of the mean of the diagonal added to the diagonal, so that it is positive definite
 * also where there were fewer tokens than columns, or a column was always 0.
 */
export function damped(matrix: Float64Array, n: number, share: number): Float64Array {
  const copy = matrix.slice();
  let trace = 0;
  for (let i = 0; i < n; i++) trace += matrix[i * n + i] ?? 0;
  const added = (share * trace) / n || 1;
  for (let i = 0; i < n; i++) copy[i * n + i] = (copy[i * n + i] ?? 0) + added;
  return copy;
}
