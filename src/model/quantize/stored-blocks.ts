import { ModelError } from '../model-error.ts';
import type { StoredIntegers, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';

/** The kernels of MatMulNBits have blocks of a power of two of weights, from 16 on. */
const LEAST_BLOCK = 16;
const MOST_BLOCK = 128;

/** How many weights a block of a layout can have in a product; null if there are no such blocks. */
export function productBlockSize({ blockSize }: StoredLayout): number | null {
  // The largest power of two that divides it: its scale is then that of several blocks.
  const largest = Math.min(blockSize & -blockSize, MOST_BLOCK);
  return largest < LEAST_BLOCK ? null : largest;
}

/** The layout that all of a matrix's tensors have, if there are products of it. */
export function sharedLayout(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
): StoredLayout | null {
  const layouts = tensors.map(({ name, rows }) => weights.layout?.(name, [rows, columns]) ?? null);
  const [first = null] = layouts;
  if (first === null || productBlockSize(first) === null) return null;
  let [hasZeroPoints, hasOffsets] = [false, false];
  for (const layout of layouts) {
    if (layout === null || !isAlike(layout, first)) return null;
    hasZeroPoints ||= layout.hasZeroPoints;
    hasOffsets ||= layout.hasOffsets === true;
  }
  return { ...first, hasZeroPoints, hasOffsets };
}

function isAlike(a: StoredLayout, b: StoredLayout): boolean {
  if (a.bits !== b.bits || a.blockSize !== b.blockSize) return false;
  return a.order === b.order || (a.order !== null && b.order !== null && isSame(a.order, b.order));
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

/** Reads a matrix that has a layout. @throws {ModelError} if it is not as it says */
export async function readIntegers(
  weights: WeightSource,
  name: string,
  shape: readonly [rows: number, columns: number],
): Promise<StoredIntegers> {
  const layout = weights.layout?.(name, shape);
  const stored = await weights.integers?.(name, shape);
  if (!layout || !stored) throw new ModelError(`tensor "${name}" is not stored in integers`);
  if (rowsIn(stored, layout, shape[1]) === shape[0]) return stored;
  throw isOtherwise(name);
}

/** As readIntegers, in pieces of whole rows. */
export async function* readIntegerPieces(
  weights: WeightSource,
  name: string,
  shape: readonly [rows: number, columns: number],
): AsyncGenerator<StoredIntegers, void> {
  const layout = weights.layout?.(name, shape);
  if (!layout || !weights.integerPieces) {
    yield await readIntegers(weights, name, shape);
    return;
  }
  let rows = 0;
  for await (const piece of weights.integerPieces(name, shape)) {
    rows += rowsIn(piece, layout, shape[1]) ?? NaN;
    yield piece;
  }
  if (rows !== shape[0]) throw isOtherwise(name);
}

/** Null where there are not as many of everything as rows of `columns` have. */
function rowsIn(
  { values, scales, zeroPoints, offsets }: StoredIntegers,
  layout: StoredLayout,
  columns: number,
): number | null {
  const rows = values.length / columns;
  const blocks = rows * Math.ceil(columns / layout.blockSize);
  const isWhole =
    scales.length === blocks &&
    (zeroPoints?.length ?? blocks) === blocks &&
    offsets?.length === (layout.hasOffsets ? blocks : undefined);
  return isWhole && (layout.hasZeroPoints || zeroPoints === null) ? rows : null;
}

function isOtherwise(name: string): ModelError {
  return new ModelError(`tensor "${name}" is not stored as its header and configuration say`);
}

/** The weights that integers stand for, in the order of their columns. */
export function dequantize(
  { values, scales, zeroPoints, offsets = null }: StoredIntegers,
  { bits, blockSize, order }: StoredLayout,
  columns: number,
): Float32Array {
  const weights = new Float32Array(values.length);
  const blocks = Math.ceil(columns / blockSize);
  const middle = 2 ** (bits - 1);
  for (let row = 0; row < values.length / columns; row++) {
    for (let block = 0; block < blocks; block++) {
      const scale = scales[row * blocks + block] ?? 0;
      const zero = zeroPoints?.[row * blocks + block] ?? middle;
      const offset = offsets?.[row * blocks + block] ?? 0;
      const end = Math.min(columns, (block + 1) * blockSize);
      for (let place = block * blockSize; place < end; place++) {
        const column = order === null ? place : (order[place] ?? 0);
        const value = (values[row * columns + place] ?? 0) - zero;
        weights[row * columns + column] = scale * value + offset;
      }
    }
  }
  return weights;
}

/** Rows of a matrix in another order. @param rowOf by new place, the row that comes there */
export function withRows(
  { values, scales, zeroPoints, offsets = null }: StoredIntegers,
  rows: number,
  rowOf: (place: number) => number,
): StoredIntegers {
  const reorder = <T extends Uint8Array | Float32Array>(from: T): T => {
    const width = from.length / rows;
    const to = from.slice() as T;
    for (let place = 0; place < rows; place++) {
      const row = rowOf(place);
      to.set(from.subarray(row * width, (row + 1) * width), place * width);
    }
    return to;
  };
  return {
    values: reorder(values),
    scales: reorder(scales),
    zeroPoints: zeroPoints && reorder(zeroPoints),
    offsets: offsets && reorder(offsets),
  };
}
