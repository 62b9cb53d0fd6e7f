import { foursOf } from '../huggingface/fours-of.ts';
import { CODEBOOK_TYPES } from './codebook-types.ts';
import {
  integersOfQ2,
  integersOfQ3,
  integersOfQ4,
  integersOfQ5,
  integersOfQ6,
} from './k-quants.ts';
import type { BlockSpace, IntegerBlocks, IntegerType } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';
import { TABLE_TYPES } from './table-types.ts';
import { TERNARY_TYPES } from './ternary-types.ts';
import { NIBBLES, viewOf } from './words.ts';

const BLOCK = 32;
const HALF_BLOCK = 16;
/** Words of four values. */
const BLOCK_WORDS = BLOCK / 4;
const HALF_WORDS = HALF_BLOCK / 4;

/** By the names of tensor-types.ts. */
export const INTEGER_TYPES: Readonly<Record<string, IntegerType>> = {
  Q4_0: nibbles(4, { blockBytes: 18, hasMin: false, hasFifth: false }),
  Q4_1: nibbles(4, { blockBytes: 20, hasMin: true, hasFifth: false }),
  Q5_0: nibbles(8, { blockBytes: 22, hasMin: false, hasFifth: true }),
  Q5_1: nibbles(8, { blockBytes: 24, hasMin: true, hasFifth: true }),
  Q8_0: { groupSize: BLOCK, bits: 8, zero: 128, middle: 128, read: integersOfQ8 },
  Q2_K: { groupSize: 16, bits: 4, zero: 0, middle: 2, read: integersOfQ2 },
  Q3_K: { groupSize: 16, bits: 4, zero: 4, middle: 4, read: integersOfQ3 },
  Q4_K: { groupSize: 32, bits: 4, zero: 0, middle: 8, read: integersOfQ4 },
  Q5_K: { groupSize: 32, bits: 8, zero: 0, middle: 16, read: integersOfQ5 },
  Q6_K: { groupSize: 16, bits: 8, zero: 32, middle: 32, read: integersOfQ6 },
  ...TABLE_TYPES,
  ...CODEBOOK_TYPES,
  ...TERNARY_TYPES,
};

interface NibbleBlocks {
  readonly blockBytes: number;
  /** A float16 is added; without it integers are around their middle. */
  readonly hasMin: boolean;
  /** A word with each value's fifth bit. */
  readonly hasFifth: boolean;
}

/** A scale, a minimum or none, fifth bits or none; the first half of a block in the low nibbles. */
function nibbles(bits: 4 | 8, { blockBytes, hasMin, hasFifth }: NibbleBlocks): IntegerType {
  const middle = hasFifth ? 16 : 8;
  const packed = blockBytes - HALF_BLOCK;
  const read = (bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks => {
    const scales = strideHalves(bytes, blockBytes, 0, space.scales);
    const integers = space.integers(scales.length * BLOCK);
    const fours = foursOf(integers);
    const view = viewOf(bytes);
    for (let block = 0; block < scales.length; block++) {
      const start = block * blockBytes + packed;
      const at = block * BLOCK_WORDS;
      for (let i = 0; i < HALF_WORDS; i++) {
        const word = view.getInt32(start + 4 * i, true);
        fours[at + i] = word & NIBBLES;
        fours[at + HALF_WORDS + i] = (word >>> 4) & NIBBLES;
      }
      if (!hasFifth) continue;
      const fifth = view.getInt32(start - 4, true);
      for (let i = 0; i < BLOCK_WORDS; i++) {
        fours[at + i] = (fours[at + i] ?? 0) | (spread(fifth >>> (4 * i)) << 4);
      }
    }
    const mins = hasMin ? strideHalves(bytes, blockBytes, 2, space.mins) : null;
    return { integers, scales, mins };
  };
  return { groupSize: BLOCK, bits, zero: hasMin ? 0 : middle, middle, read };
}

/** The lowest four bits of a number as the lowest bits of four bytes. */
function spread(bits: number): number {
  return ((bits & 15) * 0x00204081) & 0x01010101;
}

function integersOfQ8(bytes: Uint8Array<ArrayBuffer>, space: BlockSpace): IntegerBlocks {
  const blockBytes = 34;
  const scales = strideHalves(bytes, blockBytes, 0, space.scales);
  const integers = space.integers(scales.length * BLOCK);
  const fours = foursOf(integers);
  const view = viewOf(bytes);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes + 2;
    const at = block * BLOCK_WORDS;
    for (let i = 0; i < BLOCK_WORDS; i++) {
      // To flip the highest bit of a byte is to add 128 to it.
      fours[at + i] = view.getInt32(start + 4 * i, true) ^ 0x80808080;
    }
  }
  return { integers, scales, mins: null };
}
