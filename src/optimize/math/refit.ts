import { cholesky, damped, solveRows } from './cholesky.ts';

/** Added to the diagonal of a Gram matrix, as a share of its mean: holds weights near what they were. */
const DAMPING = 1e-4;

/**
 * Takes columns out of a matrix W, and fits those that stay so that W x changes least over the inputs that
 * a Gram matrix was summed up from (least squares).
 * @param weights [rows, columns]
 * @param gram [columns, columns], the sum of x x^T
 * @param kept columns in ascending order
 * @returns [rows, kept]
 */
export function refitColumns(
  weights: Float32Array,
  gram: Float64Array,
  kept: readonly number[],
): Float32Array {
  const columns = Math.sqrt(gram.length);
  const rows = weights.length / columns;
  const size = kept.length;
  const isKept = new Set(kept);
  const removed = Array.from({ length: columns }, (_, column) => column).filter(
    (column) => !isKept.has(column),
  );
  const lost = new Float64Array(rows * size);
  for (let row = 0; row < rows; row++) {
    for (const column of removed) {
      const weight = weights[row * columns + column] ?? 0;
      for (let i = 0; i < size; i++) {
        const product = gram[column * columns + (kept[i] ?? 0)] ?? 0;
        lost[row * size + i] = (lost[row * size + i] ?? 0) + weight * product;
      }
    }
  }
  const fitted = correction(lost, submatrix(gram, columns, kept));
  return selectColumns(weights, columns, kept).map((weight, i) => weight + (fitted[i] ?? 0));
}

/**
 * Changes a matrix W so that W x is nearer to what it should be, by least squares.
 * @param weights [rows, columns]
 * @param gram [columns, columns], the sum of x x^T
 * @param error [columns, rows], the sum of x e^T over what is missing from each W x
 */
export function refitTo(
  weights: Float32Array,
  gram: Float64Array,
  error: Float64Array,
): Float32Array {
  const columns = Math.sqrt(gram.length);
  const rows = weights.length / columns;
  const wanted = new Float64Array(rows * columns);
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      wanted[row * columns + column] = error[column * rows + row] ?? 0;
    }
  }
  const fitted = correction(wanted, gram);
  return weights.map((weight, i) => weight + (fitted[i] ?? 0));
}

/** Columns of a matrix, in the order that they are named. */
export function selectColumns(
  weights: Float32Array,
  columns: number,
  kept: readonly number[],
): Float32Array {
  const selected = new Float32Array((weights.length / columns) * kept.length);
  for (let i = 0; i < selected.length; i++) {
    const row = Math.floor(i / kept.length);
    selected[i] = weights[row * columns + (kept[i % kept.length] ?? 0)] ?? 0;
  }
  return selected;
}

/** Rows of a matrix or elements of a vector, in the order that they are named. @param width of a row */
export function selectRows(
  weights: Float32Array,
  width: number,
  kept: readonly number[],
): Float32Array {
  const selected = new Float32Array(kept.length * width);
  for (const [place, row] of kept.entries()) {
    selected.set(weights.subarray(row * width, (row + 1) * width), place * width);
  }
  return selected;
}

function correction(wanted: Float64Array, gram: Float64Array): Float64Array {
  const size = Math.sqrt(gram.length);
  solveRows(cholesky(damped(gram, size, DAMPING), size), size, wanted);
  return wanted;
}

function submatrix(matrix: Float64Array, n: number, kept: readonly number[]): Float64Array {
  const size = kept.length;
  const part = new Float64Array(size * size);
  for (const [i, row] of kept.entries()) {
    for (const [j, column] of kept.entries()) {
      part[i * size + j] = matrix[row * n + column] ?? 0;
    }
  }
  return part;
}
