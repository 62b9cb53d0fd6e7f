// Floats as integers of a few bits, the largest magnitude of several becoming the largest of these.
#pragma once

#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Values so small that the inverse of their scale is not a number count as zeros.
constexpr float kSmallest = 1e-30f;
constexpr float kLargestByte = 127.0f;

// Factors that turn values into integers, and integers back into values.
struct IntegerScale {
  float inverse, scale;
};

// By the largest magnitude among values, in lanes of bits, which becomes `largest`.
static inline IntegerScale integerScale(I16 most, float largest = kLargestByte) {
  const int32_t bits = largestInt(most);
  float magnitude;
  memcpy(&magnitude, &bits, sizeof magnitude);
  if (magnitude < kSmallest) return {0.0f, 0.0f};
  return {largest / magnitude, magnitude / largest};
}

static inline I16 toIntegers(F16 x, F16 inverse, float largest = kLargestByte) {
  // Values that are not numbers must not reach the conversion: their scale is not a number either.
  return toInt(smaller(larger(mul(x, inverse), splat(-largest)), splat(largest)));
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
