import { float32ToFloat16 } from '../huggingface/float-conversion.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import { reusedArray } from '../huggingface/reused-array.ts';
import type { NativeFormat, StoredIntegers } from '../huggingface/weights.ts';
import { requireHalves } from './float-matrix.ts';
import { foursOf } from '../huggingface/fours-of.ts';
import { LANES, PAIR, type PackedLayout } from './packed-layout.ts';
import type { SmallBlocks } from './quantize-small-blocks.ts';

/** Formats with a scale for each block. */
export type BlockFormat = NativeFormat & { readonly blockSize: 16 | 32 | 64 };

/** Puts rows of blocks where they belong, one after the other. */
export class BlockPacker {
  readonly #name: string;
  readonly #columns: number;
  readonly #layout: PackedLayout;
  readonly #format: BlockFormat;
  /** With padding. */
  readonly #blocks: number;
  readonly #fours: Int32Array;
  readonly #halves: Halves;
  /** Scales and offsets of a piece, as float16. */
  readonly #space = {
    scales: reusedArray((length) => new Uint16Array(length)),
    offsets: reusedArray((length) => new Uint16Array(length)),
  };
  #row = 0;

  constructor(
    { name, columns }: MatrixSource,
    layout: PackedLayout,
    format: BlockFormat,
    { fours, ...halves }: Halves & { readonly fours: Int32Array },
  ) {
    this.#name = name;
    this.#columns = columns;
    this.#layout = layout;
    this.#format = format;
    this.#blocks = layout.padded / format.blockSize;
    this.#fours = fours;
    this.#halves = halves;
  }

  /** Adds whole rows in blocks of the format, two neighbours of 4 bits to a byte. */
  add({ packed, scales, offsets }: SmallBlocks): void {
    const { bits, blockSize } = this.#format;
    const perRow = Math.ceil(this.#columns / blockSize);
    const row = bits === 8 ? packed : new Uint8Array(perRow * blockSize);
    const fours = foursOf(row);
    const halves = this.#halvesOf(scales, offsets);
    for (let first = 0; first < scales.length; first += perRow) {
      if (bits === 4) widen(packed, (first * blockSize) / 2, row);
      const from = bits === 8 ? (first * blockSize) / 4 : 0;
      this.#put(fours, from, { halves, first, share: 1 });
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
    const halves = this.#halvesOf(scales, offsets);
    for (let row = 0; row < values.length / this.#columns; row++) {
      padded.set(values.subarray(row * this.#columns, (row + 1) * this.#columns));
      const first = row * perRow;
      this.#put(fours, 0, { halves, first, share: storedSize / blockSize });
    }
  }

  /** @throws {ModelError} if one is too large for float16 */
  #halvesOf(scales: Float32Array, offsets?: Float32Array | null): Halves {
    const rounded = (what: keyof Halves, values: Float32Array) => {
      const halves = float32ToFloat16(values, this.#space[what](values.length));
      requireHalves(halves, values, `${this.#name}.weight_${what}`);
      return halves;
    };
    const hasOffsets = this.#halves.offsets !== null && offsets;
    return {
      scales: rounded('scales', scales),
      offsets: hasOffsets ? rounded('offsets', offsets) : null,
    };
  }

  /**
   * Puts the next row.
   * @param from where its values begin, one to a byte
   * @param share blocks that have the same scale
   */
  #put(row: Int32Array, from: number, { halves, first, share }: RowScales): void {
    const { bits, blockSize } = this.#format;
    const place = this.#layout.placeOf(this.#row++);
    const lane = place % PAIR;
    const firstBlock = Math.floor(place / PAIR) * this.#blocks;
    const numBlocks = Math.ceil(this.#columns / blockSize);
    const { scales, offsets } = halves;
    const { scales: ownScales, offsets: ownOffsets } = this.#halves;
    for (let block = 0; block < numBlocks; block++) {
      const at = (firstBlock + block) * PAIR + lane;
      const scale = first + Math.floor(block / share);
      ownScales[at] = scales[scale] ?? 0;
      if (ownOffsets !== null) ownOffsets[at] = offsets?.[scale] ?? 0;
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

/** Scales and offsets in float16. */
interface Halves {
  readonly scales: Uint16Array;
  readonly offsets: Uint16Array | null;
}

/** Where a row's scales and offsets begin. */
interface RowScales {
  readonly halves: Halves;
  readonly first: number;
  readonly share: number;
}

/** Two neighbours of 4 bits to a byte as one to a byte. */
function widen(packed: Uint8Array, from: number, values: Uint8Array): void {
  for (let i = 0; i < values.length; i += 2) {
    const both = packed[from + i / 2] ?? 0;
    values[i] = both & 15;
    values[i + 1] = both >> 4;
  }
}
