import { float32ToFloat16 } from '../../../src/model/huggingface/float-conversion.ts';

/** Weights that share a scale, in both formats. */
const BLOCK = 32;

export const GGUF_TYPES = ['q8_0', 'q4_0'] as const;
export type GgufType = (typeof GGUF_TYPES)[number];

/** Bytes of a block: a float16 scale, then 8 or 4 bits a weight. */
const BLOCK_BYTES: Readonly<Record<GgufType, number>> = { q8_0: 34, q4_0: 18 };

export function quantizedBytes(type: GgufType, numValues: number): number {
  return (numValues / BLOCK) * BLOCK_BYTES[type];
}

/** llama.cpp's reference quantization. @param values a multiple of 32 of them */
export function quantize(type: GgufType, values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(quantizedBytes(type, values.length));
  const numBlocks = values.length / BLOCK;
  const scales = new Float32Array(numBlocks);
  for (let block = 0; block < numBlocks; block++) {
    const weights = values.subarray(block * BLOCK, (block + 1) * BLOCK);
    const scale = type === 'q8_0' ? scaleOf8(weights) : scaleOf4(weights);
    scales[block] = scale;
    const start = block * BLOCK_BYTES[type] + 2;
    const target = bytes.subarray(start, start + BLOCK_BYTES[type] - 2);
    if (type === 'q8_0') write8(weights, scale, target);
    else write4(weights, scale, target);
  }
  const view = new DataView(bytes.buffer);
  for (const [block, half] of float32ToFloat16(scales).entries()) {
    view.setUint16(block * BLOCK_BYTES[type], half, true);
  }
  return bytes;
}

// Loops over indices: checkpoints of billions of weights go through these.

function scaleOf8(weights: Float32Array): number {
  let most = 0;
  for (let index = 0; index < weights.length; index++) {
    most = Math.max(most, Math.abs(weights[index] ?? 0));
  }
  return most / 127;
}

/** The weight that is farthest from 0 becomes -8, so the scale has a sign. */
function scaleOf4(weights: Float32Array): number {
  let far = 0;
  for (let index = 0; index < weights.length; index++) {
    const value = weights[index] ?? 0;
    if (Math.abs(value) > Math.abs(far)) far = value;
  }
  return far / -8;
}

function write8(weights: Float32Array, scale: number, target: Uint8Array): void {
  for (let index = 0; index < weights.length; index++) {
    target[index] = scale === 0 ? 0 : Math.round((weights[index] ?? 0) / scale);
  }
}

/** The first half of a block in the low nibbles, the second in the high ones. */
function write4(weights: Float32Array, scale: number, target: Uint8Array): void {
  for (let index = 0; index < BLOCK / 2; index++) {
    const low = level(weights[index] ?? 0, scale);
    const high = level(weights[index + BLOCK / 2] ?? 0, scale);
    target[index] = low | (high << 4);
  }
}

function level(value: number, scale: number): number {
  return scale === 0 ? 8 : Math.min(15, Math.floor(value / scale + 8.5));
}
