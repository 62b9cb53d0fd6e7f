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
  const ofBlocks = strideHalves(bytes, blockBytes, 80);
  const minsOfBlocks = strideHalves(bytes, blockBytes, 82);
  const { integers, fours, scales, mins } = partsIn(space, ofBlocks.length, 16);
  const view = viewOf(bytes);
  for (let block = 0; block < ofBlocks.length; block++) {
    const start = block * blockBytes;
    const values = start + 16;
    const [scale, min] = [ofBlocks[block] ?? 0, minsOfBlocks[block] ?? 0];
    for (let part = 0; part < 16; part++) {
      const packed = bytes[start + part] ?? 0;
      scales[block * 16 + part] = scale * (packed & 15);
      mins[block * 16 + part] = -min * (packed >> 4);
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const at = (block * BLOCK + part * 16) / 4;
      for (let i = 0; i < 4; i++) {
        fours[at + i] = (view.getInt32(from + 4 * i, true) >>> shift) & PAIRS;
      }
    }
  }
  return { integers, scales, mins };
}

/** 16 values share a 6-bit scale; each value's third bit is apart from the others. */
export function integersOfQ3(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 110;
  const ofBlocks = strideHalves(bytes, blockBytes, 108);
  const { integers, fours, scales } = partsIn(space, ofBlocks.length, 16);
  const view = viewOf(bytes);
  for (let block = 0; block < ofBlocks.length; block++) {
    const scale = ofBlocks[block] ?? 0;
    const start = block * blockBytes;
    const values = start + 32;
    const partScales = values + 64;
    for (let part = 0; part < 16; part++) {
      const low = ((bytes[partScales + (part % 8)] ?? 0) >> (part < 8 ? 0 : 4)) & 15;
      const high = ((bytes[partScales + 8 + (part % 4)] ?? 0) >> (2 * (part >> 2))) & 3;
      scales[block * 16 + part] = scale * ((low | (high << 4)) - 32);
      const from = values + lowBitsAt(part);
      const shift = lowBitsShift(part);
      const thirdBits = start + (part % 2) * 16;
      const at = (block * BLOCK + part * 16) / 4;
      for (let i = 0; i < 4; i++) {
        const third = (view.getInt32(thirdBits + 4 * i, true) >>> (part >> 1)) & ONES;
        const two = (view.getInt32(from + 4 * i, true) >>> shift) & PAIRS;
        fours[at + i] = two | (third << 2);
      }
    }
  }
  return { integers, scales, mins: null };
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
  const ofBlocks = strideHalves(bytes, blockBytes, 0);
  const minsOfBlocks = strideHalves(bytes, blockBytes, 2);
  const { integers, fours, scales, mins } = partsIn(space, ofBlocks.length, 32);
  const view = viewOf(bytes);
  for (let block = 0; block < ofBlocks.length; block++) {
    const start = block * blockBytes;
    const values = start + (hasFifth ? 48 : 16);
    const [scale, min] = [ofBlocks[block] ?? 0, minsOfBlocks[block] ?? 0];
    const parts = block * 8;
    // The last four's upper two bits are beside the first four.
    for (let part = 0; part < 4; part++) {
      const first = bytes[start + 4 + part] ?? 0;
      const second = bytes[start + 8 + part] ?? 0;
      const lower = bytes[start + 12 + part] ?? 0;
      scales[parts + part] = scale * (first & 63);
      mins[parts + part] = -min * (second & 63);
      scales[parts + 4 + part] = scale * ((lower & 15) | ((first >> 6) << 4));
      mins[parts + 4 + part] = -min * ((lower >> 4) | ((second >> 6) << 4));
    }
    const at = (block * BLOCK) / 4;
    // The low halves of bytes are a part, the high halves the next.
    for (let pair = 0; pair < 4; pair++) {
      for (let i = 0; i < 8; i++) {
        const word = view.getInt32(values + pair * 32 + 4 * i, true);
        fours[at + pair * 16 + i] = word & NIBBLES;
        fours[at + pair * 16 + 8 + i] = (word >>> 4) & NIBBLES;
      }
    }
    if (!hasFifth) continue;
    for (let i = 0; i < 8; i++) {
      const fifths = view.getInt32(start + 16 + 4 * i, true);
      for (let part = 0; part < 8; part++) {
        const to = at + part * 8 + i;
        fours[to] = (fours[to] ?? 0) | (((fifths >>> part) & ONES) << 4);
      }
    }
  }
  return { integers, scales, mins };
}

/** 16 values share an 8-bit scale; each value's upper two bits are apart from the lower four. */
export function integersOfQ6(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 210;
  const ofBlocks = strideHalves(bytes, blockBytes, 208);
  const { integers, fours, scales } = partsIn(space, ofBlocks.length, 16);
  const view = viewOf(bytes);
  for (let block = 0; block < ofBlocks.length; block++) {
    const scale = ofBlocks[block] ?? 0;
    const start = block * blockBytes;
    for (let part = 0; part < 16; part++) {
      const signed = ((bytes[start + 192 + part] ?? 0) << 24) >> 24;
      scales[block * 16 + part] = scale * signed;
    }
    // In each half, 128 values, the first two quarters are the low halves of bytes, the others the high ones.
    for (let half = 0; half < 2; half++) {
      const lower = start + half * 64;
      const upper = start + 128 + half * 32;
      const at = (block * BLOCK + half * 128) / 4;
      for (let i = 0; i < 8; i++) {
        const first = view.getInt32(lower + 4 * i, true);
        const second = view.getInt32(lower + 32 + 4 * i, true);
        const high = view.getInt32(upper + 4 * i, true);
        fours[at + i] = (first & NIBBLES) | ((high & PAIRS) << 4);
        fours[at + 8 + i] = (second & NIBBLES) | (((high >>> 2) & PAIRS) << 4);
        fours[at + 16 + i] = ((first >>> 4) & NIBBLES) | (((high >>> 4) & PAIRS) << 4);
        fours[at + 24 + i] = ((second >>> 4) & NIBBLES) | (((high >>> 6) & PAIRS) << 4);
      }
    }
  }
  return { integers, scales, mins: null };
}

/** Room for blocks of parts that have scales of their own; `fours` are the integers, four to a word. */
function partsIn(space: BlockSpace, numBlocks: number, partSize: number) {
  const integers = space.integers(numBlocks * BLOCK);
  const numParts = (numBlocks * BLOCK) / partSize;
  const [scales, mins] = [space.scales(numParts), space.mins(numParts)];
  return { integers, fours: foursOf(integers), scales, mins };
}
