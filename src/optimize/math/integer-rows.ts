import { float16ToFloat32, float32ToFloat16 } from '../../model/huggingface/float-conversion.ts';
import { scaleOfLeastError } from './block-scale.ts';
import type { Compensation } from './compensation.ts';

/** Stands for 0. */
const MIDDLE = 8;
const LARGEST = 15;

/** A matrix in 4 bits: a weight is (value - 8) * the scale of its block. */
export interface IntegerRows {
  /** [rows, columns] from 0 to 15. */
  readonly values: Uint8Array;
  /** [rows, blocks], each one that float16 has. */
  readonly scales: Float32Array;
}

/**
 * Rounds a matrix to 4 bits, each block of neighbours in a row by a scale of least squared error.
 * @param compensation moves the error of each weight into those after it; null rounds to the nearest
 */
export function roundRows(
  weights: Float32Array,
  columns: number,
  blockSize: number,
  compensation: Compensation | null,
): IntegerRows {
  const rows = weights.length / columns;
  const blocks = Math.ceil(columns / blockSize);
  const values = new Uint8Array(weights.length);
  const scales = new Float32Array(rows * blocks);
  for (let index = 0; index < rows; index++) {
    const start = index * columns;
    const row = new Float64Array(weights.subarray(start, start + columns));
    let scale = 0;
    const round = (column: number): number => {
      if (column % blockSize === 0) {
        const block = row.subarray(column, Math.min(column + blockSize, columns));
        scale = halfOf(scaleOfLeastError(block));
        scales[index * blocks + column / blockSize] = scale;
      }
      const nearest = scale === 0 ? 0 : Math.round((row[column] ?? 0) / scale);
      const value = Math.min(LARGEST, Math.max(0, nearest + MIDDLE));
      values[start + column] = value;
      return scale * (value - MIDDLE);
    };
    if (compensation === null) {
      for (let column = 0; column < columns; column++) round(column);
    } else {
      compensation.apply(row, round);
    }
  }
  return { values, scales };
}

/** The weights that integers stand for. */
export function floatsOf(
  { values, scales }: IntegerRows,
  columns: number,
  blockSize: number,
): Float32Array {
  const floats = new Float32Array(values.length);
  let block = 0;
  for (let row = 0; row < values.length; row += columns) {
    for (let column = 0; column < columns; column += blockSize, block++) {
      const scale = scales[block] ?? 0;
      const end = row + Math.min(column + blockSize, columns);
      for (let i = row + column; i < end; i++) floats[i] = scale * ((values[i] ?? 0) - MIDDLE);
    }
  }
  return floats;
}

const scratch = new Float32Array(1);

/** Nearest float16 of a value: folders, and our own kernels, have scales in it. */
function halfOf(value: number): number {
  scratch[0] = value;
  float16ToFloat32(float32ToFloat16(scratch), scratch);
  return scratch[0] ?? 0;
}
