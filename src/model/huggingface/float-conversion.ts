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

/** Scratch space to see a float32's bits. */
const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/**
 * Rounds float32 to float16 bits, to the nearest and on a tie to the even one. What is too large
 * becomes infinite.
 */
export function float32ToFloat16(source: Float32Array): Uint16Array {
  const halves = new Uint16Array(source.length);
  for (let i = 0; i < source.length; i++) {
    halves[i] = float16BitsOf(source[i] ?? 0);
  }
  return halves;
}

function float16BitsOf(value: number): number {
  scratch[0] = value;
  const bits = scratchBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) {
    return sign | 0x7e00;
  }
  // Halfway between the largest float16, 65504, and what would come next.
  if (magnitude >= 0x477f_f000) {
    return sign | 0x7c00;
  }
  if (magnitude < 0x3880_0000) {
    // Below the smallest normal float16, in steps of 2^-24.
    return sign | roundToEven(Math.abs(value) * 2 ** 24);
  }
  // A carry out of the fraction goes into the exponent, which is what rounding up means there.
  const rebiased = magnitude - 0x3800_0000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
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
