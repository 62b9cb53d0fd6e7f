import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import {
  type MadeMatrix,
  type MatrixTask,
  type NativeFormat,
  piecesOf,
  type WeightSource,
} from '../huggingface/weights.ts';
import { type BlockFormat, BlockPacker } from './block-packer.ts';
import { foursOf } from '../huggingface/fours-of.ts';
import { forEachRow } from './make-rows.ts';
import { PackedLayout, PAIR } from './packed-layout.ts';
import { emptyBlocks, quantizeRows } from './quantize-blocks.ts';
import { quantizeSmallBlocks, SMALL_BLOCK, type SmallBlocks } from './quantize-small-blocks.ts';
import { inOneForm } from './stored-form.ts';

type PackedTask = Extract<MatrixTask, { kind: 'native' }>;

/** Sizes of what makePacked makes. */
function sizesOf({ source, isGated, bits, blockSize, hasOffsets }: Omit<PackedTask, 'kind'>) {
  const layout = new PackedLayout(rowsOf(source), source.columns, isGated);
  const { numPlaces, padded } = layout;
  const valueBytes = (numPlaces * padded * bits) / 8;
  const numScales = blockSize === null ? numPlaces : (numPlaces * padded) / blockSize;
  const scaleBytes = numScales * (blockSize === null ? 4 : 2);
  const byteLength = valueBytes + scaleBytes * (hasOffsets ? 2 : 1);
  return { layout, valueBytes, numScales, scaleBytes, byteLength };
}

/** Bytes of what makePacked makes. */
export function packedBytes(task: Omit<PackedTask, 'kind'>): number {
  return sizesOf(task).byteLength;
}

/**
 * A matrix as addNativeMatrix takes it.
 * @param memory for it, of at least `packedBytes`; new if left out
 */
export async function makePacked(
  weights: WeightSource,
  task: PackedTask,
  memory?: SharedArrayBuffer,
): Promise<MadeMatrix> {
  const { layout, valueBytes, numScales, scaleBytes, byteLength } = sizesOf(task);
  const { source, bits } = task;
  const buffer = memory ?? new ArrayBuffer(byteLength);
  const values = new Uint8Array(buffer, 0, valueBytes);
  const zeroPoints = new Uint8Array();
  const fours = foursOf(values);
  const isPadded = layout.numPlaces !== rowsOf(source) || layout.padded !== source.columns;
  if (isPadded) {
    // Padding is 0, too.
    fours.fill(bits === 4 ? 0x88888888 : 0x80808080);
    new Uint8Array(buffer, valueBytes, byteLength - valueBytes).fill(0);
  }
  if (!hasBlocks(task)) {
    const scales = new Float32Array(buffer, valueBytes, numScales);
    await pack8(weights, source, layout, { fours, scales });
    return { values, scales, zeroPoints };
  }
  const halves = (start: number) => new Uint16Array(buffer, start, numScales);
  const scales = halves(valueBytes);
  const offsets = task.hasOffsets ? halves(valueBytes + scaleBytes) : null;
  const packer = new BlockPacker(source, layout, task, { fours, scales, offsets });
  await packBlocks(weights, source, packer, task);
  return { values, scales, ...(offsets && { offsets }), zeroPoints };
}

/** Puts [pairs][padded / 4][2][16][4] of values moved up by 128, and a scale for each row. */
async function pack8(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  layout: PackedLayout,
  { fours, scales }: { readonly fours: Int32Array; readonly scales: Float32Array },
): Promise<void> {
  const { padded } = layout;
  let first = 0;
  for (const { name, rows } of tensors) {
    // Padding is 0, too.
    const row8 = new Int8Array(padded);
    const rowFours = foursOf(row8);
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
}

function hasBlocks<Format extends NativeFormat>(format: Format): format is Format & BlockFormat {
  return format.blockSize !== null;
}

/**
 * Puts weights in blocks, scales and offsets [pairs][blocks][32]. With 8 bits, values lie as in `pack8`. With 4 bits
 * [pairs][blocks][2][block / 8][16][4] of values moved up by 8, of each block the fours 2 i in the low and 2 i + 1
 * in the high half of bytes.
 */
async function packBlocks(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  packer: BlockPacker,
  format: BlockFormat,
): Promise<void> {
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
