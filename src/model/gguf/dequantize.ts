import { bfloat16ToFloat32, float16ToFloat32 } from '../huggingface/float-conversion.ts';
import { BlockSpace, dequantize } from './integer-blocks.ts';
import { INTEGER_TYPES } from './integer-types.ts';

/**
 * Writes the values of whole blocks, rounded to float32 after each operation, as ggml's reference
 * does.
 * @param bytes the blocks; at an even offset of its buffer
 * @param target as long as they have values
 */
type Dequantize = (bytes: Uint8Array<ArrayBuffer>, target: Float32Array) => void;

/** By the names of tensor-types.ts. */
export const DEQUANTIZE: Readonly<Record<string, Dequantize>> = {
  F32: (bytes, target) =>
    target.set(new Float32Array(bytes.buffer, bytes.byteOffset, target.length)),
  F16: (bytes, target) =>
    float16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, target.length), target),
  BF16: (bytes, target) =>
    bfloat16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, target.length), target),
  ...Object.fromEntries(
    Object.entries(INTEGER_TYPES).map(([name, type]): [string, Dequantize] => [
      name,
      (bytes, target) => dequantize(type.read(bytes, new BlockSpace()), type, target),
    ]),
  ),
};
