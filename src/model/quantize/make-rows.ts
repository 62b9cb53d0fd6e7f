import { type MadeMatrix, piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { isInRows } from './kept-format.ts';
import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import { roundHalfUp } from './round.ts';
import { readIntegers } from './stored-blocks.ts';
import { transposeInto } from '../huggingface/transpose.ts';

const LARGEST = 127;
/** Integer that stands for 0 in integers from 0 on. */
const ZERO = 128;
/** Rows that are transposed at a time. */
const ROWS_AT_ONCE = 64;

/** A matrix as 8-bit integers [columns, rows]: a value is stored * its row's scale. */
export async function makeRows(weights: WeightSource, source: MatrixSource): Promise<MadeMatrix> {
  const { tensors, columns } = source;
  const totalRows = rowsOf(source);
  const values = new Int8Array(columns * totalRows);
  const scales = new Float32Array(totalRows);
  const block = new Int8Array(ROWS_AT_ONCE * columns);
  let first = 0;
  for (const { name, rows } of tensors) {
    await forEachRow(weights, name, [rows, columns], (row, integers, scale) => {
      scales[first + row] = scale;
      const inBlock = row % ROWS_AT_ONCE;
      block.set(integers, inBlock * columns);
      if (inBlock !== ROWS_AT_ONCE - 1 && row !== rows - 1) return;
      transposeInto(block, inBlock + 1, columns, values, totalRows, first + row - inBlock);
    });
    first += rows;
  }
  return { values, scales, zeroPoints: new Uint8Array() };
}

/**
 * Gives each row of a tensor in 8 bits, with its scale: as it is stored, if it is stored in such rows,
 * otherwise rounded to them.
 * @param use what it is given stays valid until it returns
 */
export async function forEachRow(
  weights: WeightSource,
  name: string,
  [rows, columns]: readonly [rows: number, columns: number],
  use: (row: number, integers: Int8Array, scale: number) => void,
): Promise<void> {
  const integers = new Int8Array(columns);
  const layout = weights.layout?.(name, [rows, columns]) ?? null;
  if (layout !== null && isInRows(layout, columns)) {
    const { values, scales } = await readIntegers(weights, name, [rows, columns]);
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < columns; i++) integers[i] = (values[row * columns + i] ?? 0) - ZERO;
      use(row, integers, scales[row] ?? 0);
    }
    return;
  }
  let row = 0;
  for await (const piece of piecesOf(weights, name, [rows, columns])) {
    for (let start = 0; start < piece.length; start += columns, row++) {
      const scale = quantizeRow(piece.subarray(start, start + columns), integers);
      use(row, integers, scale);
    }
  }
}

/** Quantizes a row to 8 bits; returns its scale. */
export function quantizeRow(row: Float32Array, integers: Int8Array): number {
  const scale = largestMagnitude(row) / LARGEST;
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let i = 0; i < row.length; i++) integers[i] = roundHalfUp((row[i] ?? 0) * inverse);
  return scale;
}

/** Scratch space to see a number's bits. */
const scratch = new Float32Array(1);
const scratchBits = new Int32Array(scratch.buffer);

function largestMagnitude(values: Float32Array): number {
  // Without their sign, numbers are in the order of their bits.
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  let largest = 0;
  for (let i = 0; i < bits.length; i++) {
    const magnitude = (bits[i] ?? 0) & 0x7fff_ffff;
    if (magnitude > largest) largest = magnitude;
  }
  scratchBits[0] = largest;
  return scratch[0] ?? 0;
}
