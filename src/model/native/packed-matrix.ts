import type { MatrixSource } from '../quantize/matrix-source.ts';
import {
  BLOCK_SIZE,
  blockBytes,
  blocksPerRow,
  emptyBlocks,
  type QuantizedBlocks,
  quantizeRows,
} from '../quantize/quantize-blocks.ts';
import { packIntegers } from '../quantize/pack-integers.ts';
import { forEachRow } from '../quantize/row-matrix.ts';
import { sharedLayout } from '../quantize/stored-blocks.ts';
import type { StoredLayout, WeightSource } from '../huggingface/weights.ts';

/** Columns of a vector, and of the two that lie together; see native/kernels.h. */
const LANES = 16;
const PAIR = 2 * LANES;

/** Weights as the operators of native/ read them. */
export interface PackedMatrix {
  readonly values: Uint8Array;
  readonly scales: Float32Array;
}

/** Where the rows of a matrix, which are columns of a product, lie in packed weights. */
export class PackedLayout {
  readonly #rows: number;
  readonly #isGated: boolean;
  readonly numPairs: number;
  /** Columns of the matrix with padding. */
  readonly padded: number;

  /** @param isGated the first half of the rows are a gate's, and lie beside the others */
  constructor(rows: number, columns: number, isGated: boolean) {
    this.#rows = rows;
    this.#isGated = isGated;
    this.numPairs = isGated ? Math.ceil(rows / 2 / LANES) : Math.ceil(rows / PAIR);
    this.padded = blocksPerRow(columns) * BLOCK_SIZE;
  }

  /** Rows with padding. */
  get numPlaces(): number {
    return this.numPairs * PAIR;
  }

  placeOf(row: number): number {
    if (!this.#isGated) return row;
    const half = this.#rows / 2;
    const inHalf = row % half;
    const which = row < half ? 0 : 1;
    return Math.floor(inHalf / LANES) * PAIR + which * LANES + (inHalf % LANES);
  }

  /** Values by row as values by place, zeros where there is no row. */
  place(values: Float32Array): Float32Array {
    const placed = new Float32Array(this.numPlaces);
    for (const [row, value] of values.entries()) placed[this.placeOf(row)] = value;
    return placed;
  }
}

/** [pairs][padded / 4][2][16][4] of values moved up by 128, a scale for each row. */
export async function pack8(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  layout: PackedLayout,
): Promise<PackedMatrix> {
  const { padded, numPlaces } = layout;
  const values = new Uint8Array(numPlaces * padded).fill(128);
  const scales = new Float32Array(numPlaces);
  let first = 0;
  for (const { name, rows } of tensors) {
    await forEachRow(weights, name, [rows, columns], (row, integers, scale) => {
      const place = layout.placeOf(first + row);
      scales[place] = scale;
      const base = Math.floor(place / PAIR) * PAIR * padded + (place % PAIR) * 4;
      for (let column = 0; column < columns; column++) {
        const at = base + (column >> 2) * 4 * PAIR + (column & 3);
        values[at] = (integers[column] ?? 0) + 128;
      }
    });
    first += rows;
  }
  return { values, scales };
}

/**
 * [pairs][padded / 64][2][8][16][4] of values moved up by 8, of each block of 64 the fours 2 i in the low
 * and 2 i + 1 in the high half of bytes; scales [pairs][padded / 64][32].
 */
export async function pack4(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  layout: PackedLayout,
): Promise<PackedMatrix> {
  const { padded, numPlaces } = layout;
  const blocks = padded / BLOCK_SIZE;
  const values = new Uint8Array((numPlaces * padded) / 2).fill(0x88);
  const scales = new Float32Array(numPlaces * blocks);
  let first = 0;
  for (const { name, rows } of tensors) {
    const quantized = await blocksOf(weights, { name, rows }, columns);
    for (let row = 0; row < rows; row++) {
      const place = layout.placeOf(first + row);
      for (let block = 0; block < blocks; block++) {
        const from = row * blocks + block;
        const pairBlock = Math.floor(place / PAIR) * blocks + block;
        scales[pairBlock * PAIR + (place % PAIR)] = quantized.scales[from] ?? 0;
        const bytes = quantized.packed.subarray(from * blockBytes(4), (from + 1) * blockBytes(4));
        const base = pairBlock * PAIR * blockBytes(4);
        packBlock(
          bytes,
          values,
          base + Math.floor((place % PAIR) / LANES) * LANES * blockBytes(4) + (place % LANES) * 4,
        );
      }
    }
    first += rows;
  }
  return { values, scales };
}

/** A tensor's own blocks, if they are of these weights, else new ones. */
async function blocksOf(
  weights: WeightSource,
  tensor: MatrixSource['tensors'][number],
  columns: number,
): Promise<QuantizedBlocks> {
  const { name, rows } = tensor;
  const source = { name, tensors: [tensor], columns };
  const layout = sharedLayout(weights, source);
  if (layout !== null && isInNativeBlocks(layout)) {
    return packIntegers(weights, source, rows, layout, BLOCK_SIZE);
  }
  const quantized = emptyBlocks(rows, columns, 4);
  quantizeRows(await weights.get(name, [rows, columns]), columns, 4, quantized, 0);
  return quantized;
}

/** Whether integers can be kept in 4-bit blocks of native/. */
export function isInNativeBlocks({ bits, blockSize, ...rest }: StoredLayout): boolean {
  return bits === 4 && blockSize % BLOCK_SIZE === 0 && !rest.hasZeroPoints && rest.order === null;
}

/** @param bytes of a block, two neighbours to a byte @param base of the block's row */
function packBlock(bytes: Uint8Array, values: Uint8Array, base: number): void {
  for (let at = 0; at < BLOCK_SIZE; at += 8) {
    const to = base + (at >> 3) * 4 * LANES;
    for (let j = 0; j < 4; j++) {
      values[to + j] = valueAt(bytes, at + j) | (valueAt(bytes, at + 4 + j) << 4);
    }
  }
}

function valueAt(bytes: Uint8Array, index: number): number {
  const byte = bytes[index >> 1] ?? 0;
  return index & 1 ? byte >> 4 : byte & 15;
}
