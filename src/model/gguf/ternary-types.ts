import { float16ToFloat32 } from '../huggingface/float-conversion.ts';
import type { BlockSpace, IntegerBlocks, IntegerType } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';
import { TERNARY_BOOK } from './ternary-codebook.ts';
import { shortOf } from './words.ts';

/** Values of a block, in all IQ and TQ types. */
const BLOCK = 256;
/** Integers that share a scale where a whole block does: as kernels take them. */
const GROUP = 32;
/** Integer that stands for 0 in 4 bits, and in 8. */
const ZERO = 8;
const WIDE_ZERO = 128;
/** Values that an entry of the book has. */
const WIDTH = 8;
const POWERS_OF_3 = [1, 3, 9, 27, 81];

/** Types whose weights are about -1, 0 or 1 times a scale, by the names of tensor-types.ts. */
export const TERNARY_TYPES: Readonly<Record<string, IntegerType>> = {
  IQ1_S: shifted(32, 50, (bytes) => {
    const ofBlocks = strideHalves(bytes, 50, 0);
    return {
      scaleOf: (start, group) => {
        const odd = 2 * ((shortOf(bytes, start + 34 + 2 * group) >> 12) & 7) + 1;
        return (ofBlocks[start / 50] ?? 0) * odd;
      },
      entryOf: (start, n) => {
        const high = (shortOf(bytes, start + 34 + 2 * (n >> 2)) >> (3 * (n & 3))) & 7;
        return (bytes[start + 2 + n] ?? 0) | (high << 8);
      },
      isLower: (start, n) => (bytes[start + 35 + 2 * (n >> 2)] ?? 0) >= 128,
    };
  }),
  IQ1_M: shifted(16, 56, (bytes) => {
    const ofBlocks = scatteredHalves(bytes, 56, 48);
    const highOf = (start: number, n: number) =>
      (bytes[start + 32 + (n >> 1)] ?? 0) >> (4 * (n & 1));
    return {
      scaleOf: (start, group) => {
        const short = shortOf(bytes, start + 48 + 2 * (group >> 2));
        return (ofBlocks[start / 56] ?? 0) * (2 * ((short >> (3 * (group & 3))) & 7) + 1);
      },
      entryOf: (start, n) => (bytes[start + n] ?? 0) | ((highOf(start, n) & 7) << 8),
      isLower: (start, n) => (highOf(start, n) & 8) !== 0,
    };
  }),
  TQ1_0: plain(BLOCK, 54, 52, (bytes, start, integers, at) => {
    // Five values are a byte, as a fraction in base 3; the last four bytes have four.
    let to = at;
    for (const { first, count, powers } of TQ1_PARTS) {
      for (const power of powers) {
        for (let i = first; i < first + count; i++) {
          const fraction = ((bytes[start + i] ?? 0) * power) & 255;
          integers[to++] = ZERO - 1 + ((fraction * 3) >> 8);
        }
      }
    }
  }),
  TQ2_0: plain(BLOCK, 66, 64, (bytes, start, integers, at) => {
    for (let i = 0; i < BLOCK; i++) {
      const byte = bytes[start + 32 * (i >> 7) + (i & 31)] ?? 0;
      integers[at + i] = ZERO - 1 + ((byte >> (2 * ((i >> 5) & 3))) & 3);
    }
  }),
  Q1_0: plain(128, 18, 0, (bytes, start, integers, at) => {
    for (let i = 0; i < 128; i++) {
      const bit = ((bytes[start + 2 + (i >> 3)] ?? 0) >> (i & 7)) & 1;
      integers[at + i] = ZERO - 1 + 2 * bit;
    }
  }),
  Q2_0: plain(64, 18, 0, (bytes, start, integers, at) => {
    for (let i = 0; i < 64; i++) {
      integers[at + i] = ZERO - 1 + (((bytes[start + 2 + (i >> 2)] ?? 0) >> (2 * (i & 3))) & 3);
    }
  }),
};

const TQ1_PARTS = [
  { first: 0, count: 32, powers: POWERS_OF_3 },
  { first: 32, count: 16, powers: POWERS_OF_3 },
  { first: 48, count: 4, powers: POWERS_OF_3.slice(0, 4) },
];

/** Blocks with one scale. */
function plain(
  blockSize: number,
  blockBytes: number,
  scaleAt: number,
  write: (bytes: Uint8Array, start: number, integers: Uint8Array, at: number) => void,
): IntegerType {
  const groups = blockSize / GROUP;
  const read = (bytes: Uint8Array, space: BlockSpace): IntegerBlocks => {
    const ofBlocks = strideHalves(bytes, blockBytes, scaleAt);
    const scales = space.scales(ofBlocks.length * groups);
    const integers = space.integers(ofBlocks.length * blockSize);
    for (const [block, scale] of ofBlocks.entries()) {
      scales.fill(scale, block * groups, (block + 1) * groups);
      write(bytes, block * blockBytes, integers, block * blockSize);
    }
    return { integers, scales, mins: null };
  };
  return { groupSize: GROUP, bits: 4, zero: ZERO, middle: ZERO, read };
}

/** Scale and codes of blocks, by where each begins. */
interface ShiftedBlocks {
  readonly scaleOf: (start: number, group: number) => number;
  /** Place in the book of the n-th eight values. */
  readonly entryOf: (start: number, n: number) => number;
  /** Whether an eighth is taken off these, and not added. */
  readonly isLower: (start: number, n: number) => boolean;
}

/** Entries of the book, shifted by an eighth: integers are eighths. */
function shifted(
  groupSize: number,
  blockBytes: number,
  blocksOf: (bytes: Uint8Array) => ShiftedBlocks,
): IntegerType {
  const groups = BLOCK / groupSize;
  const read = (bytes: Uint8Array, space: BlockSpace): IntegerBlocks => {
    const { scaleOf, entryOf, isLower } = blocksOf(bytes);
    const numBlocks = bytes.length / blockBytes;
    const scales = space.scales(numBlocks * groups);
    const integers = space.integers(numBlocks * BLOCK);
    for (let block = 0; block < numBlocks; block++) {
      const start = block * blockBytes;
      for (let group = 0; group < groups; group++) {
        scales[block * groups + group] = scaleOf(start, group) / 8;
      }
      for (let n = 0; n < BLOCK / WIDTH; n++) {
        const from = entryOf(start, n) * WIDTH;
        const shift = WIDE_ZERO + (isLower(start, n) ? -1 : 1);
        const at = block * BLOCK + n * WIDTH;
        for (let i = 0; i < WIDTH; i++)
          integers[at + i] = shift + 8 * (TERNARY_BOOK[from + i] ?? 0);
      }
    }
    return { integers, scales, mins: null };
  };
  return { groupSize, bits: 8, zero: WIDE_ZERO, middle: WIDE_ZERO, read };
}

/** A float16 of each block, four bits of which are the highest of each of four numbers. */
function scatteredHalves(bytes: Uint8Array, blockBytes: number, offset: number): Float32Array {
  const halves = Uint16Array.from({ length: bytes.length / blockBytes }, (_, block) => {
    const at = block * blockBytes + offset;
    let half = 0;
    for (let i = 0; i < 4; i++) half |= (shortOf(bytes, at + 2 * i) >> 12) << (4 * i);
    return half;
  });
  const values = new Float32Array(halves.length);
  float16ToFloat32(halves, values);
  return values;
}
