import { foursOf } from '../huggingface/fours-of.ts';
import type { BlockSpace, IntegerBlocks } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';
import { NIBBLES, viewOf } from './words.ts';

/** Values of a block, in all types here. */
const BLOCK = 256;

/** The lowest bit, and the lowest two, of four bytes. */
const ONES = 0x01010101;
const PAIRS = 0x03030303;

/** 16 values share a 4-bit scale and a 4-bit minimum. */
export function integersOfQ2(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 84;
  const scales = strideHalves(bytes, blockBytes, 80);
  const mins = strideHalves(bytes, blockBytes, 82);
  const parts = new Parts(scales.length, 16, space);
  const view = viewOf(bytes);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 16;
    for (let part = 0; part < 16; part++) {
      const packed = bytes[start + part] ?? 0;
      parts.scale(block, part, (scales[block] ?? 0) * (packed & 15));
      parts.min(block, part, (mins[block] ?? 0) * (packed >> 4));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const at = (block * BLOCK + part * 16) / 4;
      for (let i = 0; i < 4; i++) {
        parts.fours[at + i] = (view.getInt32(from + 4 * i, true) >>> shift) & PAIRS;
      }
    }
  }
  return parts;
}

/** 16 values share a 6-bit scale; each value's third bit is apart from the others. */
export function integersOfQ3(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 110;
  const scales = strideHalves(bytes, blockBytes, 108);
  const parts = new Parts(scales.length, 16, space);
  const view = viewOf(bytes);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const values = start + 32;
    const partScales = values + 64;
    for (let part = 0; part < 16; part++) {
      const low = ((bytes[partScales + (part % 8)] ?? 0) >> (part < 8 ? 0 : 4)) & 15;
      const high = ((bytes[partScales + 8 + (part % 4)] ?? 0) >> (2 * (part >> 2))) & 3;
      parts.scale(block, part, (scales[block] ?? 0) * ((low | (high << 4)) - 32));
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const thirdBits = start + (part % 2) * 16;
      const at = (block * BLOCK + part * 16) / 4;
      for (let i = 0; i < 4; i++) {
        const third = (view.getInt32(thirdBits + 4 * i, true) >>> (part >> 1)) & ONES;
        const two = (view.getInt32(from + 4 * i, true) >>> shift) & PAIRS;
        parts.fours[at + i] = two | (third << 2);
      }
    }
  }
  return parts;
}

/** Where 16 values of 2 bits are: a byte has one value of each of four such pairs of parts. */
function lowBitsAt(part: number): number {
  return (part >> 3) * 32 + (part % 2) * 16;
}

function lowBitsShift(part: number): number {
  return ((part >> 1) % 4) * 2;
}

/** 32 values share a 6-bit scale and a 6-bit minimum. */
export function integersOfQ4(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  return integersOfParts(bytes, space, { blockBytes: 144, hasFifth: false });
}

/** Blocks as in Q4; each value's fifth bit is apart from the others. */
export function integersOfQ5(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  return integersOfParts(bytes, space, { blockBytes: 176, hasFifth: true });
}

function integersOfParts(
  bytes: Uint8Array<ArrayBuffer>,
  space: BlockSpace,
  { blockBytes, hasFifth }: { readonly blockBytes: number; readonly hasFifth: boolean },
): IntegerBlocks {
  const scales = strideHalves(bytes, blockBytes, 0);
  const mins = strideHalves(bytes, blockBytes, 2);
  const parts = new Parts(scales.length, 32, space);
  const { fours } = parts;
  const view = viewOf(bytes);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const fifthBits = start + 16;
    const values = fifthBits + (hasFifth ? 32 : 0);
    for (let part = 0; part < 8; part++) {
      parts.scale(block, part, (scales[block] ?? 0) * scaleOf(bytes, start + 4, part));
      parts.min(block, part, (mins[block] ?? 0) * minOf(bytes, start + 4, part));
    }
    // The low halves of bytes are a part, the high halves the next.
    for (let part = 0; part < 8; part += 2) {
      const from = values + part * 16;
      const at = (block * BLOCK + part * 32) / 4;
      for (let i = 0; i < 8; i++) {
        const fifths = hasFifth ? view.getInt32(fifthBits + 4 * i, true) >>> part : 0;
        const word = view.getInt32(from + 4 * i, true);
        fours[at + i] = (word & NIBBLES) | ((fifths & ONES) << 4);
        fours[at + 8 + i] = ((word >>> 4) & NIBBLES) | (((fifths >>> 1) & ONES) << 4);
      }
    }
  }
  return parts;
}

/** One of eight scales of 6 bits in 12 bytes: the last four have their high bits apart. */
function scaleOf(bytes: Uint8Array, start: number, part: number): number {
  const at = start + part;
  if (part < 4) return (bytes[at] ?? 0) & 63;
  return ((bytes[at + 4] ?? 0) & 15) | (((bytes[at - 4] ?? 0) >> 6) << 4);
}

/** One of eight minimums that are beside the scales. */
function minOf(bytes: Uint8Array, start: number, part: number): number {
  const at = start + part;
  if (part < 4) return (bytes[at + 4] ?? 0) & 63;
  return ((bytes[at + 4] ?? 0) >> 4) | (((bytes[at] ?? 0) >> 6) << 4);
}

/** 16 values share an 8-bit scale; each value's upper two bits are apart from the lower four. */
export function integersOfQ6(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 210;
  const scales = strideHalves(bytes, blockBytes, 208);
  const parts = new Parts(scales.length, 16, space);
  const view = viewOf(bytes);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const upper = start + 128;
    for (let part = 0; part < 16; part++) {
      const signed = ((bytes[start + 192 + part] ?? 0) << 24) >> 24;
      parts.scale(block, part, (scales[block] ?? 0) * signed);
      const half = part >> 3;
      const quarter = (part >> 1) % 4;
      const within = (part % 2) * 16;
      const lowerAt = start + half * 64 + (quarter % 2) * 32 + within;
      const lowerShift = quarter < 2 ? 0 : 4;
      const upperAt = upper + half * 32 + within;
      const at = (block * BLOCK + part * 16) / 4;
      for (let i = 0; i < 4; i++) {
        const low = (view.getInt32(lowerAt + 4 * i, true) >>> lowerShift) & NIBBLES;
        const high = (view.getInt32(upperAt + 4 * i, true) >>> (2 * quarter)) & PAIRS;
        parts.fours[at + i] = low | (high << 4);
      }
    }
  }
  return parts;
}

/** Blocks of parts that have scales of their own. */
class Parts implements IntegerBlocks {
  readonly integers: Uint8Array<ArrayBuffer>;
  /** The integers, four to a word. */
  readonly fours: Int32Array;
  readonly scales: Float32Array;
  #mins: Float32Array | null = null;
  readonly #perBlock: number;
  readonly #space: BlockSpace;

  constructor(numBlocks: number, partSize: number, space: BlockSpace) {
    this.#perBlock = BLOCK / partSize;
    this.integers = space.integers(numBlocks * BLOCK);
    this.fours = foursOf(this.integers);
    this.scales = space.scales(numBlocks * this.#perBlock);
    this.#space = space;
  }

  get mins(): Float32Array | null {
    return this.#mins;
  }

  scale(block: number, part: number, scale: number): void {
    this.scales[block * this.#perBlock + part] = scale;
  }

  /** @param amount that is taken off */
  min(block: number, part: number, amount: number): void {
    this.#mins ??= this.#space.mins(this.scales.length);
    this.#mins[block * this.#perBlock + part] = -amount;
  }
}
