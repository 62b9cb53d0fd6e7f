// float16 without instructions for it.
#pragma once

#include <cstdint>
#include <cstring>

namespace chairlift {

static inline float fromHalf(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t fraction = half & 1023;
  uint32_t bits;
  if (exponent == 31) {
    // Quiet, as instructions make NaN.
    bits = sign | 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000 : 0);
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | fraction << 13;
  } else {
    // A multiple of 2^-24.
    const float value = float(fraction) * 5.9604644775390625e-8f;
    memcpy(&bits, &value, sizeof bits);
    bits |= sign;
  }
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

// To the nearest, halves to the even one.
static inline uint16_t toHalf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return uint16_t(sign | 0x7e00 | (bits >> 13 & 0x3ff));
  if (bits >= 0x477ff000) return uint16_t(sign | 0x7c00);
  if (bits < 0x38800000) {
    // Adding 0.5 leaves multiples of 2^-24 in the lowest bits, rounded.
    float moved;
    memcpy(&moved, &bits, sizeof moved);
    moved += 0.5f;
    memcpy(&bits, &moved, sizeof bits);
    return uint16_t(sign | (bits - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1) - (112u << 23);
  return uint16_t(sign | bits >> 13);
}

}  // namespace chairlift
