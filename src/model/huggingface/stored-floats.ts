import type { FloatDtype } from './finite.ts';
import { bfloat16ToFloat32, float16ToFloat32 } from './float-conversion.ts';

interface StoredFloats {
  readonly elementBytes: 2 | 4;
  /** Converts raw elements, at the beginning of their buffer, into as many float32 values. */
  readonly convert: (bytes: Uint8Array<ArrayBuffer>, target: Float32Array) => void;
}

/** Types of floats that weights are stored in, by the names of safetensors. */
export const STORED_FLOATS: Readonly<Record<FloatDtype, StoredFloats>> = {
  F32: {
    elementBytes: 4,
    convert: (bytes, target) => target.set(new Float32Array(bytes.buffer, 0, target.length)),
  },
  F16: {
    elementBytes: 2,
    convert: (bytes, target) =>
      float16ToFloat32(new Uint16Array(bytes.buffer, 0, target.length), target),
  },
  BF16: {
    elementBytes: 2,
    convert: (bytes, target) =>
      bfloat16ToFloat32(new Uint16Array(bytes.buffer, 0, target.length), target),
  },
};
