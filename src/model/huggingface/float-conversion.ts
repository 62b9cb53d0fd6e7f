/** Bit patterns of every float16 value as float32, by the float16's bits; made at first use. */
let float16Table: Uint32Array | undefined;

/** Bits of the float32 equal to the float16 with these bits; a NaN keeps its payload. */
function float16BitsToFloat32Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) {
    return sign | 0x7f80_0000 | (fraction << 13);
  }
  if (exponent !== 0) {
    return sign | ((exponent + 112) << 23) | (fraction << 13);
  }
  if (fraction === 0) {
    return sign;
  }
  // A subnormal: shift the leading one up to where the float32's implicit one is.
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | ((fraction << (13 + shift)) & 0x7f_ffff);
}

/** Converts float16 bits to float32, exactly. `target` must be as long as `source`. */
export function float16ToFloat32(source: Uint16Array, target: Float32Array): void {
  float16Table ??= Uint32Array.from({ length: 0x1_0000 }, (_, half) =>
    float16BitsToFloat32Bits(half),
  );
  const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < source.length; i++) {
    // Always inside both arrays; the fallbacks are for the compiler.
    bits[i] = float16Table[source[i] ?? 0] ?? 0;
  }
}

/** Converts bfloat16 bits to float32, exactly. `target` must be as long as `source`. */
export function bfloat16ToFloat32(source: Uint16Array, target: Float32Array): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < source.length; i++) {
    bits[i] = (source[i] ?? 0) << 16;
  }
}

/**
 * Rounds float32 to float16 bits, to the nearest and on a tie to the even one. What is too large
 * becomes infinite.
 * @param halves where they go, as many; new if left out
 */
export function float32ToFloat16(
  source: Float32Array,
  halves: Uint16Array = new Uint16Array(source.length),
): Uint16Array {
  const bits = new Int32Array(source.buffer, source.byteOffset, source.length);
  for (let i = 0; i < bits.length; i++) halves[i] = float16BitsOf(bits[i] ?? 0);
  return halves;
}

/** @param bits of a float32 */
function float16BitsOf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude < 0x3880_0000) {
    // Below the smallest normal float16, in steps of 2^-24: below half of that, a zero.
    if (magnitude < 0x3300_0000) return sign;
    const fraction = (magnitude & 0x7f_ffff) | 0x80_0000;
    return sign | roundedShift(fraction, 126 - (magnitude >>> 23));
  }
  if (magnitude > 0x7f80_0000) return sign | 0x7e00;
  // Halfway between the largest float16, 65504, and what would come next.
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  // A carry out of the fraction goes into the exponent, which is what rounding up means there.
  return sign | roundedShift(magnitude - 0x3800_0000, 13);
}

/** Shifts to the right, rounding to the nearest, on a tie to the even one. */
function roundedShift(value: number, by: number): number {
  return (value + (1 << (by - 1)) - 1 + ((value >>> by) & 1)) >>> by;
}

/** Rounds float32 to bfloat16 bits, to the nearest and on a tie to the even one. */
export function float32ToBfloat16(source: Float32Array): Uint16Array {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length);
  const halves = new Uint16Array(source.length);
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i] ?? 0;
    const isNaN = (value & 0x7fff_ffff) > 0x7f80_0000;
    // A carry out of the fraction goes into the exponent, which is what rounding up means there.
    halves[i] = isNaN ? (value >>> 16) | 0x40 : (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
  return halves;
}
