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
  /** Values of a piece, one to a byte; its scales and offsets, as float16. */
  readonly #space = {
    values: reusedArray((length) => new Uint8Array(length)),
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
    const values = bits === 8 ? packed : widened(packed, this.#space.values(2 * packed.length));
    const halves = this.#halvesOf(scales, offsets);
    this.#put(values, perRow * blockSize, { ...halves, perRow, share: 1 });
  }

  /**
   * Adds whole rows of a checkpoint's integers.
   * @param storedSize weights that share a scale: as many as in a block of the format, or several times as many
   */
  addStored({ values, scales, offsets }: StoredIntegers, storedSize: number): void {
    const { bits, blockSize } = this.#format;
    const perRow = Math.ceil(this.#columns / storedSize);
    const width = Math.ceil(this.#columns / blockSize) * blockSize;
    const halves = this.#halvesOf(scales, offsets);
    const share = storedSize / blockSize;
    const rows = width === this.#columns ? values : this.#padded(values, width, 2 ** (bits - 1));
    this.#put(rows, width, { ...halves, perRow, share });
  }

  /** Rows up to the end of their last blocks. */
  #padded(values: Uint8Array, width: number, padding: number): Uint8Array {
    const columns = this.#columns;
    const rows = values.length / columns;
    const padded = this.#space.values(rows * width).fill(padding);
    for (let row = 0; row < rows; row++) {
      padded.set(values.subarray(row * columns, (row + 1) * columns), row * width);
    }
    return padded;
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
   * Puts the next rows.
   * @param values one to a byte
   * @param width of a row
   */
  #put(values: Uint8Array, width: number, shared: RowScales): void {
    const words = foursOf(values);
    const rowWords = width / 4;
    const count = values.length / width;
    for (let row = 0; row < count;) {
      const place = this.#layout.placeOf(this.#row);
      const together = this.#numTogether(place, count - row);
      for (let i = 0; i < together; i++) this.#putScales(place + i, row + i, shared);
      const rows = words.subarray(row * rowWords, (row + together) * rowWords);
      this.#putValues(rows, rowWords, place);
      this.#row += together;
      row += together;
    }
  }

  /** Rows from the next on whose lanes are beside each other in the same vectors. */
  #numTogether(place: number, most: number): number {
    let count = 1;
    while (
      count < most &&
      (place + count) % LANES !== 0 &&
      this.#layout.placeOf(this.#row + count) === place + count
    ) {
      count++;
    }
    return count;
  }

  #putScales(place: number, row: number, { scales, offsets, perRow, share }: RowScales): void {
    const lane = place % PAIR;
    const at = Math.floor(place / PAIR) * this.#blocks * PAIR + lane;
    const count = Math.ceil(this.#columns / this.#format.blockSize);
    const own = this.#halves;
    const ofBlocks = { first: row * perRow, share, count };
    repeat(scales, ofBlocks, own.scales, at);
    if (own.offsets === null) return;
    // Some of a matrix's tensors may have none.
    repeat(offsets ?? NONE, ofBlocks, own.offsets, at);
  }

  #putValues(words: Int32Array, rowWords: number, place: number): void {
    const { bits, blockSize } = this.#format;
    const lane = place % PAIR;
    const blockWords = blockSize / 4;
    const firstWord = Math.floor(place / PAIR) * this.#blocks * blockWords * PAIR;
    if (bits === 8) {
      spread(words, rowWords, this.#fours, firstWord + lane);
      return;
    }
    // In each block, the upper lanes come after the lower ones.
    const half = Math.floor(lane / LANES) * (blockWords / 2) * LANES + (lane % LANES);
    spreadNibbles(words, rowWords, this.#fours, firstWord / 2 + half, blockWords);
  }
}

const NONE = new Uint16Array();

/** Puts what blocks share, a row of lanes apart. */
function repeat(
  shared: Uint16Array,
  {
    first,
    share,
    count,
  }: { readonly first: number; readonly share: number; readonly count: number },
  target: Uint16Array,
  at: number,
): void {
  let from = first;
  for (let block = 0, used = 0; block < count; block++) {
    target[at + block * PAIR] = shared[from] ?? 0;
    if (++used < share) continue;
    used = 0;
    from++;
  }
}

/** Words of each row that are put before the next row's: where they go stays in a core's cache. */
const TILE = 64;

/** Puts rows of words into lanes beside each other. */
function spread(words: Int32Array, rowWords: number, target: Int32Array, lane: number): void {
  for (let tile = 0; tile < rowWords; tile += TILE) {
    const size = Math.min(TILE, rowWords - tile);
    for (let row = tile, at = lane + tile * PAIR; row < words.length; row += rowWords, at++) {
      for (let i = 0; i < size; i++) target[at + i * PAIR] = words[row + i] ?? 0;
    }
  }
}

/** The same of 4-bit values, two words to one. @param blockWords of which a tile has whole ones */
function spreadNibbles(
  words: Int32Array,
  rowWords: number,
  target: Int32Array,
  lane: number,
  blockWords: number,
): void {
  for (let tile = 0; tile < rowWords; tile += TILE) {
    const size = Math.min(TILE, rowWords - tile);
    for (
      let row = tile, first = lane + tile * LANES;
      row < words.length;
      row += rowWords, first++
    ) {
      for (let block = 0; block < size; block += blockWords) {
        const from = row + block;
        const to = first + block * LANES;
        for (let i = 0; i < blockWords; i += 2) {
          const low = words[from + i] ?? 0;
          target[to + i * (LANES / 2)] = low | ((words[from + i + 1] ?? 0) << 4);
        }
      }
    }
  }
}

/** Scales and offsets in float16. */
interface Halves {
  readonly scales: Uint16Array;
  readonly offsets: Uint16Array | null;
}

/** Those of rows, one row after the other. */
interface RowScales extends Halves {
  readonly perRow: number;
  /** Blocks that have the same. */
  readonly share: number;
}

/** Two neighbours of 4 bits to a byte as one to a byte. */
function widened(packed: Uint8Array, values: Uint8Array): Uint8Array {
  for (let i = 0; i < packed.length; i++) {
    const both = packed[i] ?? 0;
    values[2 * i] = both & 15;
    values[2 * i + 1] = both >> 4;
  }
  return values;
}
