import { E2M1, EXPONENT_BIAS } from '../quantized/mxfp4.ts';
import type { BlockSpace, IntegerBlocks, IntegerType } from './integer-blocks.ts';
import { strideHalves } from './stride-halves.ts';

/** Integers that share a scale, in all types here. */
const GROUP = 32;
/** Bytes that they take; the first half of them is in the low nibbles. */
const GROUP_BYTES = 16;
/** Integer that stands for 0. */
const ZERO = 128;

/** As MXFP4's table, of 4-bit floats, is when it is doubled. */
const DOUBLED_E2M1 = Int8Array.from(E2M1, (value) => 2 * value);
const IQ4 = Int8Array.of(
  ...[-127, -104, -83, -65, -49, -35, -22, -10],
  ...[1, 13, 25, 38, 53, 69, 89, 113],
);

/** Types whose weights are 4-bit places in a table of integers, by the names of tensor-types.ts. */
export const TABLE_TYPES: Readonly<Record<string, IntegerType>> = {
  MXFP4: inTable(DOUBLED_E2M1, { headBytes: 1, groups: 1, scalesOf: powersOfTwo }),
  IQ4_NL: inTable(IQ4, {
    headBytes: 2,
    groups: 1,
    scalesOf: (bytes) => strideHalves(bytes, 18, 0),
  }),
  IQ4_XS: inTable(IQ4, { headBytes: 8, groups: 8, scalesOf: scalesOfIq4Xs }),
};

interface TableBlocks {
  /** Bytes of a block before its places. */
  readonly headBytes: number;
  readonly groups: number;
  /** Scales of all groups in whole blocks. */
  readonly scalesOf: (bytes: Uint8Array) => Float32Array;
}

function inTable(table: Int8Array, { headBytes, groups, scalesOf }: TableBlocks): IntegerType {
  const blockBytes = headBytes + groups * GROUP_BYTES;
  const unsigned = Uint8Array.from(table, (value) => value + ZERO);
  const read = (bytes: Uint8Array, space: BlockSpace): IntegerBlocks => {
    const scales = scalesOf(bytes);
    const integers = space.integers(scales.length * GROUP);
    for (let group = 0; group < scales.length; group++) {
      const block = Math.floor(group / groups);
      const from = block * blockBytes + headBytes + (group % groups) * GROUP_BYTES;
      const to = group * GROUP;
      for (let i = 0; i < GROUP_BYTES; i++) {
        const byte = bytes[from + i] ?? 0;
        integers[to + i] = unsigned[byte & 15] ?? 0;
        integers[to + GROUP_BYTES + i] = unsigned[byte >> 4] ?? 0;
      }
    }
    return { integers, scales, mins: null };
  };
  return { groupSize: GROUP, bits: 8, zero: ZERO, middle: ZERO, read };
}

function powersOfTwo(bytes: Uint8Array): Float32Array {
  const blockBytes = 17;
  const scales = new Float32Array(bytes.length / blockBytes);
  for (let block = 0; block < scales.length; block++) {
    scales[block] = 2 ** ((bytes[block * blockBytes] ?? 0) - EXPONENT_BIAS - 1);
  }
  return scales;
}

/** A float16 times integers of 6 bits: the upper two of each are apart from the lower four. */
function scalesOfIq4Xs(bytes: Uint8Array): Float32Array {
  const blockBytes = 136;
  const groups = 8;
  const ofBlocks = strideHalves(bytes, blockBytes, 0);
  const scales = new Float32Array(ofBlocks.length * groups);
  for (let block = 0; block < ofBlocks.length; block++) {
    const start = block * blockBytes;
    for (let group = 0; group < groups; group++) {
      const low = (bytes[start + 4 + (group >> 1)] ?? 0) >> (4 * (group & 1));
      const high = (bytes[start + 2 + (group >> 2)] ?? 0) >> (2 * (group & 3));
      const integer = (low & 15) | ((high & 3) << 4);
      scales[block * groups + group] = (ofBlocks[block] ?? 0) * (integer - 32);
    }
  }
  return scales;
}
