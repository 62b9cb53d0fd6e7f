import { BOOKS, type Codebook } from './codebooks.ts';
import type { BlockSpace, IntegerBlocks, IntegerType } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';
import { shortOf } from './words.ts';

/** Values of a block, in all types here. */
const BLOCK = 256;
/** Values that have a byte of signs. */
const EIGHT = 8;
/** Integer that stands for 0. */
const ZERO = 128;

/** Signs of eight values by the first seven: the number of negative ones is even. */
const EVEN_SIGNS = Uint8Array.from({ length: 128 }, (_, seven) => {
  let parity = 0;
  for (let bit = 0; bit < 7; bit++) parity ^= (seven >> bit) & 1;
  return seven | (parity << 7);
});

/** Where things are in a block that begins at `start`. */
interface CodebookBlocks {
  readonly blockBytes: number;
  readonly groupSize: 16 | 32;
  readonly book: Codebook;
  /** Factor of the block's float16, which is its first two bytes. */
  readonly factorOf: (bytes: Uint8Array, start: number, group: number) => number;
  /** Place in the book of a block's n-th entry. */
  readonly entryOf: (bytes: Uint8Array, start: number, n: number) => number;
  /** Bits of the n-th eight values, set where one is negative. */
  readonly signsOf: (bytes: Uint8Array, start: number, n: number) => number;
}

/** By the names of tensor-types.ts. */
export const CODEBOOK_TYPES: Readonly<Record<string, IntegerType>> = {
  IQ2_XXS: inBook({
    blockBytes: 66,
    groupSize: 32,
    book: BOOKS.IQ2_XXS,
    // Four entries, their signs and their scale are eight bytes.
    factorOf: (bytes, start, group) => halves(wordOf(bytes, start + 6 + 8 * group) >>> 28) / 4,
    entryOf: (bytes, start, n) => bytes[start + 2 + 8 * (n >> 2) + (n & 3)] ?? 0,
    signsOf: (bytes, start, n) => packedSigns(wordOf(bytes, start + 6 + 8 * (n >> 2)), n),
  }),
  IQ2_XS: inBook({
    blockBytes: 74,
    groupSize: 16,
    book: BOOKS.IQ2_XS,
    factorOf: (bytes, start, group) => halves(nibbleOf(bytes, start + 66, group)) / 4,
    entryOf: (bytes, start, n) => shortOf(bytes, start + 2 + 2 * n) & 511,
    signsOf: (bytes, start, n) => EVEN_SIGNS[shortOf(bytes, start + 2 + 2 * n) >> 9] ?? 0,
  }),
  IQ2_S: inBook({
    blockBytes: 82,
    groupSize: 16,
    book: BOOKS.IQ2_S,
    factorOf: (bytes, start, group) => halves(nibbleOf(bytes, start + 74, group)) / 4,
    entryOf: (bytes, start, n) => {
      const high = ((bytes[start + 66 + (n >> 2)] ?? 0) >> (2 * (n & 3))) & 3;
      return (bytes[start + 2 + n] ?? 0) | (high << 8);
    },
    signsOf: (bytes, start, n) => bytes[start + 34 + n] ?? 0,
  }),
  IQ3_XXS: inBook({
    blockBytes: 98,
    groupSize: 32,
    book: BOOKS.IQ3_XXS,
    factorOf: (bytes, start, group) => halves(wordOf(bytes, start + 66 + 4 * group) >>> 28) / 2,
    entryOf: (bytes, start, n) => bytes[start + 2 + n] ?? 0,
    signsOf: (bytes, start, n) => packedSigns(wordOf(bytes, start + 66 + 4 * (n >> 2)), n),
  }),
  IQ3_S: inBook({
    blockBytes: 110,
    groupSize: 32,
    book: BOOKS.IQ3_S,
    factorOf: (bytes, start, group) => 1 + 2 * nibbleOf(bytes, start + 106, group),
    entryOf: (bytes, start, n) => {
      const high = ((bytes[start + 66 + (n >> 3)] ?? 0) >> (n & 7)) & 1;
      return (bytes[start + 2 + n] ?? 0) | (high << 8);
    },
    signsOf: (bytes, start, n) => bytes[start + 74 + n] ?? 0,
  }),
};

function inBook(blocks: CodebookBlocks): IntegerType {
  const { blockBytes, groupSize, book, factorOf } = blocks;
  const groups = BLOCK / groupSize;
  const perEight = EIGHT / book.width;
  const read = (bytes: Uint8Array, space: BlockSpace): IntegerBlocks => {
    const ofBlocks = strideHalves(bytes, blockBytes, 0);
    const scales = space.scales(ofBlocks.length * groups);
    const integers = space.integers(ofBlocks.length * BLOCK);
    for (let block = 0; block < ofBlocks.length; block++) {
      const start = block * blockBytes;
      for (let group = 0; group < groups; group++) {
        scales[block * groups + group] = (ofBlocks[block] ?? 0) * factorOf(bytes, start, group);
      }
      for (let n = 0; n < BLOCK / EIGHT; n++) {
        let signs = blocks.signsOf(bytes, start, n);
        let at = block * BLOCK + n * EIGHT;
        for (let part = 0; part < perEight; part++) {
          const from = blocks.entryOf(bytes, start, n * perEight + part) * book.width;
          for (let i = from; i < from + book.width; i++) {
            const value = book.values[i] ?? 0;
            integers[at++] = (signs & 1) === 0 ? ZERO + value : ZERO - value;
            signs >>= 1;
          }
        }
      }
    }
    return { integers, scales, mins: null };
  };
  return { groupSize, bits: 8, zero: ZERO, middle: ZERO, read };
}

/** A number and a half. */
function halves(integer: number): number {
  return integer + 0.5;
}

/** Signs of one of four eights, of 7 bits each. */
function packedSigns(word: number, n: number): number {
  return EVEN_SIGNS[(word >>> (7 * (n & 3))) & 127] ?? 0;
}

function nibbleOf(bytes: Uint8Array, start: number, n: number): number {
  return ((bytes[start + (n >> 1)] ?? 0) >> (4 * (n & 1))) & 15;
}

function wordOf(bytes: Uint8Array, at: number): number {
  return shortOf(bytes, at) | (shortOf(bytes, at + 2) << 16);
}
