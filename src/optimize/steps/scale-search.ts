import { floatsOf, roundRows } from '../math/integer-rows.ts';
import type { QuadraticError } from '../math/quadratic-error.ts';

/** Powers of the inputs' magnitudes that are tried: 0, which changes nothing, to 0.9. */
const POWERS = Array.from({ length: 10 }, (_, index) => index / 10);

/**
 * Finds factors that the columns of a matrix are multiplied by before it is rounded, and its inputs
 * divided by, so that its products change least: columns with large inputs get more of the integers
 * (Lin et al.: "AWQ", MLSys 2024).
 * @param matrices [rows, columns] each, of the same inputs
 * @param magnitudes of the inputs, summed up by column
 * @param gram [columns, columns]
 */
export function searchScales(
  matrices: readonly Float32Array[],
  magnitudes: Float64Array,
  gram: Float64Array,
  blockSize: number,
  quadratic: QuadraticError,
): Float32Array {
  const columns = magnitudes.length;
  const grams = new Float32Array(gram);
  let best = new Float32Array(columns).fill(1);
  let least = Infinity;
  for (const power of POWERS) {
    const scales = scalesOf(magnitudes, power);
    let error = 0;
    for (const weights of matrices) {
      const scaled = weights.map((weight, i) => weight * (scales[i % columns] ?? 1));
      const rounded = floatsOf(roundRows(scaled, columns, blockSize, null), columns, blockSize);
      const lost = new Float32Array(weights.length);
      for (let i = 0; i < lost.length; i++) {
        lost[i] = (weights[i] ?? 0) - (rounded[i] ?? 0) / (scales[i % columns] ?? 1);
      }
      error += quadratic.of(lost, grams);
    }
    if (error >= least) continue;
    least = error;
    best = scales;
  }
  return best;
}

/** Powers of magnitudes, with as much above 1 as below. */
function scalesOf(magnitudes: Float64Array, power: number): Float32Array<ArrayBuffer> {
  const raised = magnitudes.map((magnitude) => Math.max(magnitude, Number.MIN_VALUE) ** power);
  const most = raised.reduce((a, b) => Math.max(a, b), 0);
  // A column that is always 0 would make all others large.
  const floor = most * 1e-4;
  const bounded = raised.map((value) => Math.max(value, floor));
  const least = bounded.reduce((a, b) => Math.min(a, b), Infinity);
  const middle = Math.sqrt(most * least);
  return Float32Array.from(bounded, (value) => value / middle);
}
