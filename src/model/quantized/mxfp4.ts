import type { ValueFormat } from './matrix-format.ts';

/** Values by their 4 bits: a sign, 2 bits of exponent, 1 of fraction. */
export const E2M1 = Float32Array.of(0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6);
/** Values that share an exponent. */
export const E2M1_BLOCK = 32;
/** Bias of the exponent of a block's power of two. */
export const EXPONENT_BIAS = 127;
/** An exponent that stands for NaN. */
const NAN_EXPONENT = 255;

/**
 * MXFP4: `weight_packed` [rows, columns / 2] of 4-bit floats, the first one low, and `weight_scale`
 * [rows, columns / 32] of exponents. @returns of compressed-tensors' names for them
 */
export function mxfp4Format(): ValueFormat {
  return {
    kind: 'values',
    holds: (tensors, base) =>
      tensors.dtype(`${base}.weight_packed`) === 'U8' &&
      tensors.dtype(`${base}.weight_scale`) !== 'F8_E4M3',
    async values(tensors, base, [rows, columns]) {
      const shape = [rows, Math.ceil(columns / 2)];
      const packed = await tensors.bytes(`${base}.weight_packed`, ['U8'], shape);
      const scaleShape = [rows, Math.ceil(columns / E2M1_BLOCK)];
      const exponents = await tensors.bytes(`${base}.weight_scale`, ['U8', 'F8_E8M0'], scaleShape);
      return mxfp4Values(packed, exponents);
    },
  };
}

/** The scale that an exponent stands for; NaN for one that is none. */
export function powerOfTwo(exponent: number): number {
  return exponent === NAN_EXPONENT ? NaN : 2 ** (exponent - EXPONENT_BIAS);
}

/** @param exponents of each 16 bytes of `packed` */
export function mxfp4Values(packed: Uint8Array, exponents: Uint8Array): Float32Array {
  const values = new Float32Array(packed.length * 2);
  for (let index = 0; index < packed.length; index++) {
    const byte = packed[index] ?? 0;
    const exponent = exponents[Math.floor((index * 2) / E2M1_BLOCK)] ?? 0;
    const scale = powerOfTwo(exponent);
    values[index * 2] = (E2M1[byte & 15] ?? 0) * scale;
    values[index * 2 + 1] = (E2M1[byte >> 4] ?? 0) * scale;
  }
  return values;
}
