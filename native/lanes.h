// Sixteen numbers at once, on every instruction set with the same results: products and sums are
// rounded as IEEE says, products are only fused where `fma` says so, and sums over lanes are always
// taken in the same order. The functions are the same for all, see lanes-scalar.h for their meaning.
//
// Kernels are compiled once for each instruction set, in a namespace of its own: what is inline in one
// must not be merged with what another instruction set compiled.
#pragma once

#include <cstring>

#include "kernels.h"

#if defined(__AMX_INT8__)
#define CHAIRLIFT_INSTRUCTIONS amx
#include "lanes-avx512.h"
#elif defined(CHAIRLIFT_EMULATES_TILES)
#define CHAIRLIFT_INSTRUCTIONS tiles
#include "lanes-avx2.h"
#elif defined(__AVX512VNNI__) && defined(__AVX512BW__)
#define CHAIRLIFT_INSTRUCTIONS avx512
#include "lanes-avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#if defined(__AVXVNNI__)
#define CHAIRLIFT_INSTRUCTIONS avxvnni
#else
#define CHAIRLIFT_INSTRUCTIONS avx2
#endif
#include "lanes-avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD)
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define CHAIRLIFT_INSTRUCTIONS i8mm
#else
#define CHAIRLIFT_INSTRUCTIONS neon
#endif
#include "lanes-neon.h"
#else
#define CHAIRLIFT_INSTRUCTIONS scalar
#include "lanes-scalar.h"
#endif

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

static inline F16 zeros() { return splat(0.0f); }

// Values of which only `count` are there, the others being 0.
static inline F16 loadSome(const float *from, size_t count) {
  if (count >= kLanes) return load(from);
  float all[kLanes] = {};
  memcpy(all, from, count * sizeof(float));
  return load(all);
}

static inline void storeSome(float *to, F16 values, size_t count) {
  if (count >= kLanes) return store(to, values);
  float all[kLanes];
  store(all, values);
  memcpy(to, all, count * sizeof(float));
}

// e^x, with an error of about 1e-7 of it, from e^-87 on: what is less, and NaN, becomes that.
static inline F16 exponential(F16 x) {
  const F16 log2e = splat(1.44269504f);
  x = smaller(larger(x, splat(-87.0f)), splat(88.0f));
  const I16 whole = toInt(mul(x, log2e));
  // In one rounding: what is left is from -0.5 to 0.5.
  const F16 rest = fma(x, log2e, sub(zeros(), toFloat(whole)));
  F16 power = splat(1.5403530e-4f);
  power = fma(power, rest, splat(1.3333558e-3f));
  power = fma(power, rest, splat(9.6181291e-3f));
  power = fma(power, rest, splat(5.5504109e-2f));
  power = fma(power, rest, splat(2.4022651e-1f));
  power = fma(power, rest, splat(6.9314718e-1f));
  power = fma(power, rest, splat(1.0f));
  return mul(power, powerOfTwo(whole));
}

// tanh x = 1 - 2 / (e^2x + 1)
static inline F16 hyperbolicTangent(F16 x) {
  const F16 one = splat(1.0f);
  return sub(one, divide(splat(2.0f), add(exponential(add(x, x)), one)));
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
