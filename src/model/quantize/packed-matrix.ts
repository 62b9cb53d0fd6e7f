import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import {
  BLOCK_SIZE,
  blocksPerRow,
  emptyBlocks,
  type QuantizedBlocks,
  quantizeRows,
} from './quantize-blocks.ts';
import { quantizeSmallBlocks, SMALL_BLOCK } from './quantize-small-blocks.ts';
import { packTensor } from './pack-integers.ts';
import { forEachRow } from './make-rows.ts';
import { inOneForm } from './stored-form.ts';
import {
  type MadeMatrix,
  type MatrixTask,
  type NativeFormat,
  piecesOf,
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
  const { bits, blockSize, hasOffsets } = format;
  const { padded, numPlaces } = layout;
  const blocks = padded / blockSize;
  const storedBlocks = Math.ceil(columns / blockSize);
  const bytes = (blockSize * bits) / 8;
  const values = new Uint8Array((numPlaces * padded * bits) / 8).fill(bits === 4 ? 0x88 : 128);
  const fours = foursOf(values);
  const scales = new Float32Array(numPlaces * blocks);
  const offsets = hasOffsets ? new Float32Array(scales.length) : undefined;
  let row = 0;
  for (const tensor of tensors) {
    for await (const quantized of blocksOf(weights, tensor, columns, format)) {
      const sourceFours = foursOf(quantized.packed);
      for (let from = 0; from < quantized.scales.length; row++) {
        const place = layout.placeOf(row);
        const lane = place % PAIR;
        for (let block = 0; block < storedBlocks; block++, from++) {
          const pairBlock = Math.floor(place / PAIR) * blocks + block;
          scales[pairBlock * PAIR + lane] = quantized.scales[from] ?? 0;
          if (offsets) offsets[pairBlock * PAIR + lane] = quantized.offsets?.[from] ?? 0;
          const base = pairBlock * PAIR * bytes;
          if (bits === 8) {
            const source = sourceFours.subarray((from * bytes) / 4, ((from + 1) * bytes) / 4);
            packFours(source, fours, base / 4 + lane);
          } else {
            const source = quantized.packed.subarray(from * bytes, (from + 1) * bytes);
            const half = Math.floor(lane / LANES) * LANES * bytes;
            packHalves(source, values, base + half + (lane % LANES) * 4);
          }
        }
      }
    }
  }
  return { values, scales, ...(offsets && { offsets }) };
}

/** A tensor's own blocks, if these are kept, otherwise new ones; in pieces of whole rows. */
async function* blocksOf(
  weights: WeightSource,
  { name, rows }: MatrixSource['tensors'][number],
  columns: number,
  { bits, blockSize, isStored }: BlockFormat,
): AsyncGenerator<QuantizedBlocks & { readonly offsets?: Float32Array }, void> {
  if (isStored) {
    const { integers, layout } = await inOneForm(weights, name, [rows, columns], bits);
    yield packTensor(integers, [rows, columns], layout, blockSize);
    return;
  }
  for await (const piece of piecesOf(weights, name, [rows, columns])) {
    if (blockSize === SMALL_BLOCK) {
      yield quantizeSmallBlocks(piece, columns, bits);
      continue;
    }
    const quantized = emptyBlocks(piece.length / columns, columns, 4);
    quantizeRows(piece, columns, 4, quantized, 0);
    yield quantized;
  }
}

/** Bytes that begin a buffer, four at a time. */
function foursOf({ buffer, byteLength }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, 0, byteLength / 4);
}

/** @param fours of a block @param base of the block's row */
function packFours(fours: Uint32Array, values: Uint32Array, base: number): void {
  for (let i = 0; i < fours.length; i++) values[base + i * PAIR] = fours[i] ?? 0;
}

/** @param bytes of a block, two neighbours to a byte @param base of the block's row */
function packHalves(bytes: Uint8Array, values: Uint8Array, base: number): void {
  for (let at = 0; at < bytes.length; at += 4) {
    const [a, b, c, d] = [
      bytes[at] ?? 0,
      bytes[at + 1] ?? 0,
      bytes[at + 2] ?? 0,
      bytes[at + 3] ?? 0,
    ];
    const to = base + at * LANES;
    values[to] = (a & 15) | (c << 4);
    values[to + 1] = (a >> 4) | (c & 0xf0);
    values[to + 2] = (b & 15) | (d << 4);
    values[to + 3] = (b >> 4) | (d & 0xf0);
  }
}
