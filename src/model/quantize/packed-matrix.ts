import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import { BLOCK_SIZE, blocksPerRow, emptyBlocks, quantizeRows } from './quantize-blocks.ts';
import { quantizeSmallBlocks, SMALL_BLOCK, type SmallBlocks } from './quantize-small-blocks.ts';
import { forEachRow } from './make-rows.ts';
import { inOneForm } from './stored-form.ts';
import {
  type MadeMatrix,
  type MatrixTask,
  type NativeFormat,
  piecesOf,
  type StoredIntegers,
  type WeightSource,
} from '../huggingface/weights.ts';

/** Columns of a vector, and of the two that lie together; see native/kernels.h. */
const LANES = 16;
const PAIR = 2 * LANES;

/** Weights as the operators of native/ read them. */
export interface PackedMatrix {
  readonly values: Uint8Array;
  readonly scales: Float32Array;
  /** Offsets of blocks, where the format has any. */
  readonly offsets?: Float32Array;
}

/** Where the rows of a matrix, which are columns of a product, lie in packed weights. */
export class PackedLayout {
  readonly #rows: number;
  readonly #isGated: boolean;
  readonly numPairs: number;
  /** Columns of the matrix with padding. */
  readonly padded: number;

  /** @param isGated the first half of the rows are a gate's, and lie next to the others */
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

/** A matrix as addNativeMatrix takes it. */
export async function makePacked(
  weights: WeightSource,
  { source, isGated, ...format }: Extract<MatrixTask, { kind: 'native' }>,
): Promise<MadeMatrix> {
  const layout = new PackedLayout(rowsOf(source), source.columns, isGated);
  const packed = hasBlocks(format)
    ? await packBlocks(weights, source, layout, format)
    : await pack8(weights, source, layout);
  return { ...packed, zeroPoints: new Uint8Array() };
}

/** [pairs][padded / 4][2][16][4] of values moved up by 128, a scale for each row. */
export async function pack8(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  layout: PackedLayout,
): Promise<PackedMatrix> {
  const { padded, numPlaces } = layout;
  const values = new Uint8Array(numPlaces * padded).fill(128);
  const fours = new Uint32Array(values.buffer);
  const scales = new Float32Array(numPlaces);
  let first = 0;
  for (const { name, rows } of tensors) {
    // Padding is 0, too.
    const row8 = new Int8Array(padded);
    const rowFours = new Uint32Array(row8.buffer);
    await forEachRow(weights, name, [rows, columns], (row, integers, scale) => {
      const place = layout.placeOf(first + row);
      scales[place] = scale;
      row8.set(integers);
      const base = (Math.floor(place / PAIR) * PAIR * padded) / 4 + (place % PAIR);
      for (let at = 0; at < rowFours.length; at++) {
        // To flip the highest bit of a byte is to add 128 to it.
        fours[base + at * PAIR] = (rowFours[at] ?? 0) ^ 0x80808080;
      }
    });
    first += rows;
  }
  return { values, scales };
}

/** Formats with a scale for each block. */
type BlockFormat = NativeFormat & { readonly blockSize: 16 | 32 | 64 };

function hasBlocks(format: NativeFormat): format is BlockFormat {
  return format.blockSize !== null;
}

/**
 * Weights in blocks, scales and offsets [pairs][blocks][32]. With 8 bits, values lie as in `pack8`. With 4 bits
 * [pairs][blocks][2][block / 8][16][4] of values moved up by 8, of each block the fours 2 i in the low and
 * 2 i + 1 in the high half of bytes.
 */
export async function packBlocks(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  layout: PackedLayout,
  format: BlockFormat,
): Promise<PackedMatrix> {
  const packer = new BlockPacker(columns, layout, format);
  for (const { name, rows } of tensors) {
    if (format.isStored) {
      const pieces = inOneForm(weights, name, [rows, columns], format.bits);
      for await (const { integers, blockSize } of pieces) packer.addStored(integers, blockSize);
      continue;
    }
    for await (const piece of piecesOf(weights, name, [rows, columns])) {
      packer.add(quantized(piece, columns, format));
    }
  }
  return packer.packed;
}

function quantized(
  piece: Float32Array,
  columns: number,
  { bits, blockSize }: BlockFormat,
): SmallBlocks {
  if (blockSize === SMALL_BLOCK) return quantizeSmallBlocks(piece, columns, bits);
  const blocks = emptyBlocks(piece.length / columns, columns, 4);
  quantizeRows(piece, columns, 4, blocks, 0);
  return blocks;
}

/** Puts rows of blocks where they belong, one after the other. */
class BlockPacker {
  readonly #columns: number;
  readonly #layout: PackedLayout;
  readonly #format: BlockFormat;
  /** With padding. */
  readonly #blocks: number;
  readonly #fours: Int32Array;
  #row = 0;
  readonly packed: PackedMatrix;

  constructor(columns: number, layout: PackedLayout, format: BlockFormat) {
    const { bits, blockSize, hasOffsets } = format;
    const { padded, numPlaces } = layout;
    this.#columns = columns;
    this.#layout = layout;
    this.#format = format;
    this.#blocks = padded / blockSize;
    // Padding is 0, too.
    const values = new Uint8Array((numPlaces * padded * bits) / 8).fill(bits === 4 ? 0x88 : 128);
    this.#fours = foursOf(values);
    const scales = new Float32Array(numPlaces * this.#blocks);
    this.packed = {
      values,
      scales,
      ...(hasOffsets && { offsets: new Float32Array(scales.length) }),
    };
  }

  /** Adds whole rows in blocks of the format, two neighbours of 4 bits to a byte. */
  add({ packed, scales, offsets }: SmallBlocks): void {
    const { bits, blockSize } = this.#format;
    const perRow = Math.ceil(this.#columns / blockSize);
    const row = bits === 8 ? packed : new Uint8Array(perRow * blockSize);
    const fours = foursOf(row);
    for (let first = 0; first < scales.length; first += perRow) {
      if (bits === 4) widen(packed, (first * blockSize) / 2, row);
      const from = bits === 8 ? (first * blockSize) / 4 : 0;
      this.#put(fours, from, { scales, offsets, first, share: 1 });
    }
  }

  /**
   * Adds whole rows of a checkpoint's integers.
   * @param storedSize weights that share a scale: as many as in a block of the format, or several times as many
   */
  addStored({ values, scales, offsets }: StoredIntegers, storedSize: number): void {
    const { bits, blockSize } = this.#format;
    const perRow = Math.ceil(this.#columns / storedSize);
    const padded = new Uint8Array(this.#layout.padded).fill(2 ** (bits - 1));
    const fours = foursOf(padded);
    for (let row = 0; row < values.length / this.#columns; row++) {
      padded.set(values.subarray(row * this.#columns, (row + 1) * this.#columns));
      const first = row * perRow;
      this.#put(fours, 0, { scales, offsets, first, share: storedSize / blockSize });
    }
  }

  /**
   * Puts the next row.
   * @param from where its values begin, one to a byte
   * @param share blocks that have the same scale
   */
  #put(row: Int32Array, from: number, { scales, offsets, first, share }: RowScales): void {
    const { bits, blockSize } = this.#format;
    const place = this.#layout.placeOf(this.#row++);
    const lane = place % PAIR;
    const firstBlock = Math.floor(place / PAIR) * this.#blocks;
    const numBlocks = Math.ceil(this.#columns / blockSize);
    const { packed } = this;
    for (let block = 0; block < numBlocks; block++) {
      const at = (firstBlock + block) * PAIR + lane;
      const scale = first + Math.floor(block / share);
      packed.scales[at] = scales[scale] ?? 0;
      if (packed.offsets) packed.offsets[at] = offsets?.[scale] ?? 0;
    }
    const blockFours = blockSize / 4;
    if (bits === 8) {
      const base = firstBlock * blockFours * PAIR + lane;
      const count = numBlocks * blockFours;
      for (let i = 0; i < count; i++) this.#fours[base + i * PAIR] = row[from + i] ?? 0;
      return;
    }
    const half = Math.floor(lane / LANES) * (blockFours / 2) * LANES + (lane % LANES);
    for (let block = 0; block < numBlocks; block++) {
      const base = (firstBlock + block) * (blockFours / 2) * PAIR + half;
      for (let i = 0; i < blockFours / 2; i++) {
        const at = from + block * blockFours + 2 * i;
        this.#fours[base + i * LANES] = (row[at] ?? 0) | ((row[at + 1] ?? 0) << 4);
      }
    }
  }
}

/** Where a row's scales and offsets begin. */
interface RowScales {
  readonly scales: Float32Array;
  readonly offsets?: Float32Array | null | undefined;
  readonly first: number;
  readonly share: number;
}

/** Bytes that begin a buffer, four at a time. */
function foursOf({ buffer, byteLength }: Uint8Array): Int32Array {
  return new Int32Array(buffer, 0, byteLength / 4);
}

/** Two neighbours of 4 bits to a byte as one to a byte. */
function widen(packed: Uint8Array, from: number, values: Uint8Array): void {
  for (let i = 0; i < values.length; i += 2) {
    const both = packed[from + i / 2] ?? 0;
    values[i] = both & 15;
    values[i + 1] = both >> 4;
  }
}
