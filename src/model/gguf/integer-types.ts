import {
  integersOfQ2,
  integersOfQ3,
  integersOfQ4,
  integersOfQ5,
  integersOfQ6,
} from './k-quants.ts';
import type { IntegerBlocks, IntegerType } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';
import { TABLE_TYPES } from './table-types.ts';

const BLOCK = 32;
const HALF_BLOCK = 16;

/** By the names of tensor-types.ts. */
export const INTEGER_TYPES: Readonly<Record<string, IntegerType>> = {
  Q4_0: nibbles(4, { blockBytes: 18, hasMin: false, hasFifth: false }),
  Q4_1: nibbles(4, { blockBytes: 20, hasMin: true, hasFifth: false }),
  Q5_0: nibbles(8, { blockBytes: 22, hasMin: false, hasFifth: true }),
  Q5_1: nibbles(8, { blockBytes: 24, hasMin: true, hasFifth: true }),
  Q8_0: { groupSize: BLOCK, bits: 8, middle: 0, read: integersOfQ8 },
  Q2_K: { groupSize: 16, bits: 4, middle: 2, read: integersOfQ2 },
  Q3_K: { groupSize: 16, bits: 4, middle: 0, read: integersOfQ3 },
  Q4_K: { groupSize: 32, bits: 4, middle: 8, read: integersOfQ4 },
  Q5_K: { groupSize: 32, bits: 8, middle: 16, read: integersOfQ5 },
  Q6_K: { groupSize: 16, bits: 8, middle: 0, read: integersOfQ6 },
  ...TABLE_TYPES,
};

interface NibbleBlocks {
  readonly blockBytes: number;
  /** A float16 is added; without it integers are around 0. */
  readonly hasMin: boolean;
  /** A word with each value's fifth bit. */
  readonly hasFifth: boolean;
}

/** A scale, a minimum or none, fifth bits or none; the first half of a block in the low nibbles. */
function nibbles(bits: 4 | 8, { blockBytes, hasMin, hasFifth }: NibbleBlocks): IntegerType {
  const middle = hasFifth ? 16 : 8;
  const zero = hasMin ? 0 : middle;
  const packed = blockBytes - HALF_BLOCK;
  const read = (bytes: Uint8Array<ArrayBuffer>): IntegerBlocks => {
    const scales = strideHalves(bytes, blockBytes, 0);
    const integers = new Int8Array(scales.length * BLOCK);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let block = 0; block < scales.length; block++) {
      const start = block * blockBytes;
      const fifth = hasFifth ? view.getUint32(start + packed - 4, true) : 0;
      for (let i = 0; i < HALF_BLOCK; i++) {
        const byte = bytes[start + packed + i] ?? 0;
        const at = block * BLOCK + i;
        integers[at] = ((byte & 15) | (((fifth >>> i) & 1) << 4)) - zero;
        integers[at + HALF_BLOCK] =
          ((byte >> 4) | (((fifth >>> (i + HALF_BLOCK)) & 1) << 4)) - zero;
      }
    }
    return { integers, scales, mins: hasMin ? strideHalves(bytes, blockBytes, 2) : null };
  };
  return { groupSize: BLOCK, bits, middle: middle - zero, read };
}

function integersOfQ8(bytes: Uint8Array<ArrayBuffer>): IntegerBlocks {
  const blockBytes = 34;
  const scales = strideHalves(bytes, blockBytes, 0);
  const integers = new Int8Array(scales.length * BLOCK);
  const signed = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes + 2;
    integers.set(signed.subarray(start, start + BLOCK), block * BLOCK);
  }
  return { integers, scales, mins: null };
}
