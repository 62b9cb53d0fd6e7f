import type { StoredIntegers, StoredLayout } from '../huggingface/weights.ts';
import { strideHalves } from './stride-halves.ts';

const BLOCK = 32;
const HALF_BLOCK = 16;
const Q4_0_BYTES = 18;
const Q8_0_BYTES = 34;

const layout = (bits: 4 | 8): StoredLayout => ({
  bits,
  blockSize: BLOCK,
  hasZeroPoints: false,
  order: null,
});

/** Of the types whose blocks are a scale and integers around the middle. */
export const GGUF_LAYOUTS: Readonly<Record<string, StoredLayout>> = {
  Q4_0: layout(4),
  Q8_0: layout(8),
};

/** @param type one that has a layout @param bytes whole blocks */
export function integersOf(type: string, bytes: Uint8Array<ArrayBuffer>): StoredIntegers {
  return type === 'Q4_0' ? integersOfQ4(bytes) : integersOfQ8(bytes);
}

/** The first half of a block in the low nibbles. */
function integersOfQ4(bytes: Uint8Array<ArrayBuffer>): StoredIntegers {
  const scales = strideHalves(bytes, Q4_0_BYTES, 0);
  const values = new Uint8Array(scales.length * BLOCK);
  for (let block = 0; block < scales.length; block++) {
    for (let i = 0; i < HALF_BLOCK; i++) {
      const byte = bytes[block * Q4_0_BYTES + 2 + i] ?? 0;
      values[block * BLOCK + i] = byte & 15;
      values[block * BLOCK + HALF_BLOCK + i] = byte >> 4;
    }
  }
  return { values, scales, zeroPoints: null };
}

function integersOfQ8(bytes: Uint8Array<ArrayBuffer>): StoredIntegers {
  const scales = strideHalves(bytes, Q8_0_BYTES, 0);
  const values = new Uint8Array(scales.length * BLOCK);
  for (let block = 0; block < scales.length; block++) {
    for (let i = 0; i < BLOCK; i++) {
      values[block * BLOCK + i] = (bytes[block * Q8_0_BYTES + 2 + i] ?? 0) ^ 0x80;
    }
  }
  return { values, scales, zeroPoints: null };
}
