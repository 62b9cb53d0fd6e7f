import type { StoredIntegers, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import type { QuantizedBlocks } from './quantize-blocks.ts';
import { readIntegers } from './stored-blocks.ts';

/** Blocks of integers that were stored already, as MatMulNBits reads them. */
export interface PackedBlocks extends QuantizedBlocks {
  /** [rows, blocks * bits / 8], two 4-bit ones to a byte, the earlier one low. */
  readonly zeroPoints: Uint8Array;
  /** [rows, blocks]; empty where there are none. */
  readonly offsets: Float32Array;
}

/** Bytes of a row's zero points. */
export function zeroPointBytes(blocks: number, bits: 4 | 8): number {
  return Math.ceil((blocks * bits) / 8);
}

/**
 * A matrix as it is stored.
 * @param layout of all of its tensors
 * @param size of blocks; those that are stored have as many weights, or several times as many
 */
export async function packIntegers(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  totalRows: number,
  layout: StoredLayout,
  size: number,
): Promise<PackedBlocks> {
  const packed = noBlocks(totalRows, columns, layout, size);
  let firstRow = 0;
  for (const { name, rows } of tensors) {
    const stored = await readIntegers(weights, name, [rows, columns]);
    packRows(stored, rows, { columns, size, layout }, packed, firstRow);
    firstRow += rows;
  }
  return packed;
}

function noBlocks(
  rows: number,
  columns: number,
  { bits, hasOffsets }: StoredLayout,
  size: number,
): PackedBlocks {
  const blocks = Math.ceil(columns / size);
  return {
    packed: new Uint8Array((rows * blocks * size * bits) / 8),
    scales: new Float32Array(rows * blocks),
    zeroPoints: new Uint8Array(rows * zeroPointBytes(blocks, bits)),
    offsets: new Float32Array(hasOffsets ? rows * blocks : 0),
  };
}

function packRows(
  stored: StoredIntegers,
  rows: number,
  shape: Omit<RowShape, 'row' | 'blocks'>,
  target: PackedBlocks,
  firstRow: number,
): void {
  const blocks = Math.ceil(shape.columns / shape.size);
  for (let row = 0; row < rows; row++) {
    packRow(stored, { ...shape, row, blocks }, target, firstRow + row);
  }
}

interface RowShape {
  readonly row: number;
  readonly columns: number;
  readonly size: number;
  readonly blocks: number;
  readonly layout: StoredLayout;
}

function packRow(
  { values, scales, zeroPoints, offsets }: StoredIntegers,
  { row, columns, size, blocks, layout: { bits, blockSize } }: RowShape,
  target: PackedBlocks,
  targetRow: number,
): void {
  const middle = 2 ** (bits - 1);
  const storedBlocks = Math.ceil(columns / blockSize);
  const firstByte = (targetRow * blocks * size * bits) / 8;
  const firstZero = targetRow * zeroPointBytes(blocks, bits);
  for (let block = 0; block < blocks; block++) {
    const storedBlock = row * storedBlocks + Math.floor((block * size) / blockSize);
    const zero = zeroPoints?.[storedBlock] ?? middle;
    target.scales[targetRow * blocks + block] = scales[storedBlock] ?? 0;
    // Elsewhere this is outside of the array, and has no effect.
    target.offsets[targetRow * blocks + block] = offsets?.[storedBlock] ?? 0;
    put(target.zeroPoints, firstZero, block, zero, bits);
    const first = block * size;
    const end = first + size;
    const stored = Math.min(end, columns);
    if (bits === 8) {
      const own = values.subarray(row * columns + first, row * columns + stored);
      target.packed.set(own, firstByte + first);
    } else {
      for (let at = first; at < stored; at++) {
        put(target.packed, firstByte, at, values[row * columns + at] ?? 0, bits);
      }
    }
    // Padding stands for 0.
    for (let at = stored; at < end; at++) put(target.packed, firstByte, at, zero, bits);
  }
}

function put(bytes: Uint8Array, first: number, index: number, value: number, bits: 4 | 8): void {
  if (bits === 8) {
    bytes[first + index] = value;
    return;
  }
  const at = first + (index >> 1);
  bytes[at] = (bytes[at] ?? 0) | (index & 1 ? value << 4 : value);
}
