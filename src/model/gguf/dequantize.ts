import { bfloat16ToFloat32, float16ToFloat32 } from '../huggingface/float-conversion.ts';
import {
  dequantizeQ2,
  dequantizeQ3,
  dequantizeQ4,
  dequantizeQ5,
  dequantizeQ6,
} from './k-quants.ts';
import { strideHalves } from './stride-halves.ts';

/**
 * Writes the values of whole blocks, rounded to float32 after each operation, as ggml's reference
 * does.
 * @param bytes the blocks; at an even offset of its buffer
 * @param target as long as they have values
 */
type Dequantize = (bytes: Uint8Array<ArrayBuffer>, target: Float32Array) => void;

const BLOCK = 32;
const HALF_BLOCK = 16;

/** By the names of tensor-types.ts. */
export const DEQUANTIZE: Readonly<Record<string, Dequantize>> = {
  F32: (bytes, target) =>
    target.set(new Float32Array(bytes.buffer, bytes.byteOffset, target.length)),
  F16: (bytes, target) =>
    float16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, target.length), target),
  BF16: (bytes, target) =>
    bfloat16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, target.length), target),
  Q4_0: (bytes, target) =>
    nibbles(bytes, target, { blockBytes: 18, hasMin: false, hasFifth: false }),
  Q4_1: (bytes, target) =>
    nibbles(bytes, target, { blockBytes: 20, hasMin: true, hasFifth: false }),
  Q5_0: (bytes, target) =>
    nibbles(bytes, target, { blockBytes: 22, hasMin: false, hasFifth: true }),
  Q5_1: (bytes, target) => nibbles(bytes, target, { blockBytes: 24, hasMin: true, hasFifth: true }),
  Q8_0: dequantizeQ8,
  Q2_K: dequantizeQ2,
  Q3_K: dequantizeQ3,
  Q4_K: dequantizeQ4,
  Q5_K: dequantizeQ5,
  Q6_K: dequantizeQ6,
};

interface NibbleBlocks {
  readonly blockBytes: number;
  /** A float16 that is added, else half of the range is taken off. */
  readonly hasMin: boolean;
  /** A word with each value's fifth bit. */
  readonly hasFifth: boolean;
}

/** A scale, a minimum or none, fifth bits or none; the first half of a block in the low nibbles. */
function nibbles(
  bytes: Uint8Array<ArrayBuffer>,
  target: Float32Array,
  { blockBytes, hasMin, hasFifth }: NibbleBlocks,
): void {
  const scales = strideHalves(bytes, blockBytes, 0);
  const mins = hasMin ? strideHalves(bytes, blockBytes, 2) : null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const zero = hasMin ? 0 : hasFifth ? 16 : 8;
  const packed = blockBytes - HALF_BLOCK;
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockBytes;
    const scale = scales[block] ?? 0;
    // To add -0 leaves every number as it is, -0 too.
    const min = mins?.[block] ?? -0;
    const fifth = hasFifth ? view.getUint32(start + packed - 4, true) : 0;
    for (let i = 0; i < HALF_BLOCK; i++) {
      const byte = bytes[start + packed + i] ?? 0;
      const low = (byte & 15) | (((fifth >>> i) & 1) << 4);
      const high = (byte >> 4) | (((fifth >>> (i + HALF_BLOCK)) & 1) << 4);
      const at = block * BLOCK + i;
      target[at] = Math.fround(scale * (low - zero)) + min;
      target[at + HALF_BLOCK] = Math.fround(scale * (high - zero)) + min;
    }
  }
}

function dequantizeQ8(bytes: Uint8Array<ArrayBuffer>, target: Float32Array): void {
  const blockBytes = 34;
  const scales = strideHalves(bytes, blockBytes, 0);
  const signed = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let block = 0; block < scales.length; block++) {
    const scale = scales[block] ?? 0;
    for (let i = 0; i < BLOCK; i++) {
      target[block * BLOCK + i] = scale * (signed[block * blockBytes + 2 + i] ?? 0);
    }
  }
}
