// Sixteen numbers one by one: correct on every CPU, and what each function means.
#pragma once

#include <cmath>

#include "half.h"

namespace chairlift {
namespace scalar {

struct F16 {
  float lane[kLanes];
};
struct I16 {
  int32_t lane[kLanes];
};

template <class Result, class Of>
static inline Result each(Of of) {
  Result result;
  for (size_t i = 0; i < kLanes; i++) result.lane[i] = of(i);
  return result;
}

static inline F16 splat(float x) { return each<F16>([&](size_t) { return x; }); }
static inline F16 load(const float *p) { return each<F16>([&](size_t i) { return p[i]; }); }
static inline void store(float *p, F16 x) { memcpy(p, x.lane, sizeof x.lane); }
static inline F16 loadHalf(const uint16_t *p) {
  return each<F16>([&](size_t i) { return fromHalf(p[i]); });
}
static inline void storeHalf(uint16_t *p, F16 x) {
  for (size_t i = 0; i < kLanes; i++) p[i] = toHalf(x.lane[i]);
}
static inline F16 loadBytes(const int8_t *p) {
  return each<F16>([&](size_t i) { return float(p[i]); });
}
static inline F16 add(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] + b.lane[i]; });
}
static inline F16 sub(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] - b.lane[i]; });
}
static inline F16 mul(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] * b.lane[i]; });
}
static inline F16 divide(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] / b.lane[i]; });
}
// a * b + c, rounded once.
static inline F16 fma(F16 a, F16 b, F16 c) {
  return each<F16>([&](size_t i) { return fmaf(a.lane[i], b.lane[i], c.lane[i]); });
}
// c - a * b, rounded once.
static inline F16 fmaNegative(F16 a, F16 b, F16 c) {
  return each<F16>([&](size_t i) { return fmaf(-a.lane[i], b.lane[i], c.lane[i]); });
}
// The second one where they can't be compared.
static inline F16 larger(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
static inline F16 smaller(F16 a, F16 b) {
  return each<F16>([&](size_t i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
// Lanes from `first` up to `end` of `x`, the others of `y`.
static inline F16 within(F16 x, size_t first, size_t end, F16 y) {
  return each<F16>([&](size_t i) { return i >= first && i < end ? x.lane[i] : y.lane[i]; });
}
// Lanes in places whose numbers differ by a power of two.
static inline F16 swapLanes(F16 x, size_t by) {
  return each<F16>([&](size_t i) { return x.lane[i ^ by]; });
}
static inline float sum(F16 x) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; i++) x.lane[i] += x.lane[i + half];
  }
  return x.lane[0];
}
static inline float largest(F16 x) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; i++) {
      x.lane[i] = x.lane[i] > x.lane[i + half] ? x.lane[i] : x.lane[i + half];
    }
  }
  return x.lane[0];
}

static inline I16 splatInt(int32_t x) { return each<I16>([&](size_t) { return x; }); }
static inline I16 loadInt(const int32_t *p) {
  return each<I16>([&](size_t i) { return p[i]; });
}
static inline I16 addInt(I16 a, I16 b) {
  return each<I16>([&](size_t i) { return a.lane[i] + b.lane[i]; });
}
// Times a power of two; what overflows is lost.
static inline I16 shiftLeft(I16 x, int by) {
  return each<I16>([&](size_t i) { return int32_t(uint32_t(x.lane[i]) << by); });
}
static inline F16 toFloat(I16 x) {
  return each<F16>([&](size_t i) { return float(x.lane[i]); });
}
// To the nearest, halves to the even one. Values are within 32 bits.
static inline I16 toInt(F16 x) {
  return each<I16>([&](size_t i) { return int32_t(lrintf(x.lane[i])); });
}
static inline F16 powerOfTwo(I16 x) {
  return each<F16>([&](size_t i) {
    const uint32_t bits = uint32_t(x.lane[i] + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
  });
}
// The larger one of `most` and the bits of |x|: as integers, magnitudes are in order, and NaN is last.
static inline I16 largerMagnitude(I16 most, F16 x) {
  return each<I16>([&](size_t i) {
    int32_t bits;
    memcpy(&bits, &x.lane[i], sizeof bits);
    bits &= 0x7fffffff;
    return most.lane[i] > bits ? most.lane[i] : bits;
  });
}
static inline int32_t largestInt(I16 x) {
  int32_t most = x.lane[0];
  for (int32_t value : x.lane) most = value > most ? value : most;
  return most;
}
static inline int32_t sumInt(I16 x) {
  int32_t total = 0;
  for (int32_t value : x.lane) total += value;
  return total;
}
// Values from -128 to 127.
static inline void storeBytes(int8_t *p, I16 x) {
  for (size_t i = 0; i < kLanes; i++) p[i] = int8_t(x.lane[i]);
}

static inline void storeShorts(int16_t *p, I16 x) {
  for (size_t i = 0; i < kLanes; i++) p[i] = int16_t(x.lane[i]);
}

// Sixteen pairs of neighbours, of bytes in two rows a stride apart, widened to 16 bits.
struct Pairs {
  int16_t value[2 * kLanes];
};
using Both = const int16_t *;
static inline Pairs bytesAsPairs(const uint8_t *rows, size_t stride) {
  Pairs pairs;
  for (size_t i = 0; i < kLanes; i++) {
    pairs.value[2 * i] = int8_t(rows[i]);
    pairs.value[2 * i + 1] = int8_t(rows[stride + i]);
  }
  return pairs;
}
// How they lie in memory is up to these two.
static inline void storePairs(int16_t *p, Pairs x) { memcpy(p, x.value, sizeof x.value); }
static inline Pairs loadPairs(const int16_t *p) {
  Pairs pairs;
  memcpy(pairs.value, p, sizeof pairs.value);
  return pairs;
}
// One pair for all lanes.
static inline Both both(const int16_t *p) { return p; }
static inline I16 dotPairs(I16 acc, Pairs x, Both y) {
  for (size_t i = 0; i < kLanes; i++) acc.lane[i] += x.value[2 * i] * y[0] + x.value[2 * i + 1] * y[1];
  return acc;
}

// Four weights of sixteen columns, and four activations. What `dot8` gives is too large by kOffset8 times
// the sum of the activations.
struct Weights {
  const uint8_t *bytes;
  int shift;
  uint8_t mask;
};
using Four = const int8_t *;
constexpr int32_t kOffset8 = 128;
static inline Weights loadWeights(const uint8_t *p) { return {p, 0, 255}; }
// 4-bit weights are not moved: they are from 0 to 15.
static inline Weights lowHalf(Weights w) { return {w.bytes, 0, 15}; }
static inline Weights highHalf(Weights w) { return {w.bytes, 4, 15}; }
static inline Weights loadHalves(const uint8_t *p) { return loadWeights(p); }
static inline Four four(const int8_t *p) { return p; }
static inline I16 dot8(I16 acc, Weights w, Four a) {
  for (size_t i = 0; i < kLanes; i++) {
    for (size_t j = 0; j < 4; j++) {
      acc.lane[i] += int32_t((w.bytes[4 * i + j] >> w.shift) & w.mask) * a[j];
    }
  }
  return acc;
}
static inline I16 dot4(I16 acc, Weights w, Four a) { return dot8(acc, w, a); }

static inline void prefetch(const void *) {}

// Registers decide how many rows and vectors are worth computing at once.
constexpr size_t kRows8 = 1;
constexpr size_t kRows4 = 1;
constexpr size_t kQueries = 1;
constexpr size_t kTiles = 1;
constexpr size_t kPairQueries = 1;
// Steps of a block that the compiler may put together.
constexpr int kUnroll = 1;
constexpr int kUnroll8 = 1;

}  // namespace scalar
}  // namespace chairlift
