/** Block quantization written out one value at a time, to compare with. */
import { BLOCK_SIZE, type QuantizedBlocks } from '../../src/model/quantize/quantize-blocks.ts';

/** The matrix [rows, columns] that the blocks stand for. */
export function dequantize(
  { packed, scales }: QuantizedBlocks,
  rows: number,
  columns: number,
  bits: 4 | 8,
): Float32Array {
  const blocks = Math.ceil(columns / BLOCK_SIZE);
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const place = row * blocks * BLOCK_SIZE + column;
      const scale = scales[row * blocks + Math.floor(column / BLOCK_SIZE)] ?? NaN;
      values[row * columns + column] = (storedAt(packed, place, bits) - 2 ** (bits - 1)) * scale;
    }
  }
  return values;
}

function storedAt(packed: Uint8Array, place: number, bits: 4 | 8): number {
  if (bits === 8) return packed[place] ?? NaN;
  const byte = packed[place >> 1] ?? NaN;
  return place % 2 === 0 ? byte & 15 : byte >> 4;
}

/** [m, k] times the transpose of [n, k], in double precision. */
export function multiplyTransposed(
  a: Float32Array,
  b: Float32Array,
  m: number,
  n: number,
  k: number,
): Float64Array {
  const product = new Float64Array(m * n);
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      for (let i = 0; i < k; i++) {
        const term = (a[row * k + i] ?? NaN) * (b[column * k + i] ?? NaN);
        product[row * n + column] = (product[row * n + column] ?? NaN) + term;
      }
    }
  }
  return product;
}
