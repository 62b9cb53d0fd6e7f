// Sixteen numbers in four registers of NEON, with or without its products of matrices of bytes (i8mm);
// see lanes-scalar.h for what the functions mean.
#pragma once

#include <arm_neon.h>

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

struct F16 {
  float32x4_t q[4];
};
struct I16 {
  int32x4_t q[4];
};

template <class Result, class Of>
static inline Result each(Of of) {
  Result result;
  for (int i = 0; i < 4; i++) result.q[i] = of(i);
  return result;
}

static inline F16 splat(float x) { return each<F16>([&](int) { return vdupq_n_f32(x); }); }
static inline F16 load(const float *p) { return each<F16>([&](int i) { return vld1q_f32(p + 4 * i); }); }
static inline void store(float *p, F16 x) {
  for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, x.q[i]);
}
static inline F16 loadHalf(const uint16_t *p) {
  return each<F16>([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
}
static inline void storeHalf(uint16_t *p, F16 x) {
  for (int i = 0; i < 4; i++) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.q[i])));
}
static inline F16 loadBytes(const int8_t *p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
           vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}
static inline F16 add(F16 a, F16 b) {
  return each<F16>([&](int i) { return vaddq_f32(a.q[i], b.q[i]); });
}
static inline F16 sub(F16 a, F16 b) {
  return each<F16>([&](int i) { return vsubq_f32(a.q[i], b.q[i]); });
}
static inline F16 mul(F16 a, F16 b) {
  return each<F16>([&](int i) { return vmulq_f32(a.q[i], b.q[i]); });
}
static inline F16 divide(F16 a, F16 b) {
  return each<F16>([&](int i) { return vdivq_f32(a.q[i], b.q[i]); });
}
static inline F16 fma(F16 a, F16 b, F16 c) {
  return each<F16>([&](int i) { return vfmaq_f32(c.q[i], a.q[i], b.q[i]); });
}
static inline F16 fmaNegative(F16 a, F16 b, F16 c) {
  return each<F16>([&](int i) { return vfmsq_f32(c.q[i], a.q[i], b.q[i]); });
}
// Not vmaxq_f32, which gives what is not a number.
static inline F16 larger(F16 a, F16 b) {
  return each<F16>([&](int i) { return vbslq_f32(vcgtq_f32(a.q[i], b.q[i]), a.q[i], b.q[i]); });
}
static inline F16 smaller(F16 a, F16 b) {
  return each<F16>([&](int i) { return vbslq_f32(vcltq_f32(a.q[i], b.q[i]), a.q[i], b.q[i]); });
}
static inline F16 within(F16 x, size_t first, size_t end, F16 y) {
  static const uint32_t kNumbers[4] = {0, 1, 2, 3};
  const uint32x4_t from = vdupq_n_u32(uint32_t(first < kLanes ? first : kLanes));
  const uint32x4_t below = vdupq_n_u32(uint32_t(end < kLanes ? end : kLanes));
  return each<F16>([&](int i) {
    const uint32x4_t lane = vaddq_u32(vld1q_u32(kNumbers), vdupq_n_u32(4 * uint32_t(i)));
    return vbslq_f32(vandq_u32(vcgeq_u32(lane, from), vcltq_u32(lane, below)), x.q[i], y.q[i]);
  });
}
static inline F16 swapLanes(F16 x, size_t by) {
  if (by == 8) return {{x.q[2], x.q[3], x.q[0], x.q[1]}};
  if (by == 4) return {{x.q[1], x.q[0], x.q[3], x.q[2]}};
  if (by == 2) return each<F16>([&](int i) { return vextq_f32(x.q[i], x.q[i], 2); });
  return each<F16>([&](int i) { return vrev64q_f32(x.q[i]); });
}
static inline float sum(F16 x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.q[0], x.q[2]), vaddq_f32(x.q[1], x.q[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
static inline float largest(F16 x) {
  const F16 other = {{x.q[2], x.q[3], x.q[0], x.q[1]}};
  const F16 eight = larger(x, other);
  float lanes[8];
  vst1q_f32(lanes, eight.q[0]);
  vst1q_f32(lanes + 4, eight.q[1]);
  for (int half = 4; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0];
}

static inline I16 splatInt(int32_t x) { return each<I16>([&](int) { return vdupq_n_s32(x); }); }
static inline I16 loadInt(const int32_t *p) { return each<I16>([&](int i) { return vld1q_s32(p + 4 * i); }); }
static inline I16 addInt(I16 a, I16 b) {
  return each<I16>([&](int i) { return vaddq_s32(a.q[i], b.q[i]); });
}
static inline I16 shiftLeft(I16 x, int by) {
  return each<I16>([&](int i) { return vshlq_s32(x.q[i], vdupq_n_s32(by)); });
}
static inline F16 toFloat(I16 x) { return each<F16>([&](int i) { return vcvtq_f32_s32(x.q[i]); }); }
static inline I16 toInt(F16 x) { return each<I16>([&](int i) { return vcvtnq_s32_f32(x.q[i]); }); }
static inline F16 powerOfTwo(I16 x) {
  return each<F16>([&](int i) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(x.q[i], vdupq_n_s32(127)), 23));
  });
}
static inline I16 largerMagnitude(I16 most, F16 x) {
  return each<I16>([&](int i) {
    const int32x4_t bits = vandq_s32(vreinterpretq_s32_f32(x.q[i]), vdupq_n_s32(0x7fffffff));
    return vmaxq_s32(most.q[i], bits);
  });
}
static inline int32_t largestInt(I16 x) {
  return vmaxvq_s32(vmaxq_s32(vmaxq_s32(x.q[0], x.q[1]), vmaxq_s32(x.q[2], x.q[3])));
}
static inline int32_t sumInt(I16 x) {
  return vaddvq_s32(vaddq_s32(vaddq_s32(x.q[0], x.q[1]), vaddq_s32(x.q[2], x.q[3])));
}
static inline void storeBytes(int8_t *p, I16 x) {
  const int16x8_t low = vcombine_s16(vmovn_s32(x.q[0]), vmovn_s32(x.q[1]));
  const int16x8_t high = vcombine_s16(vmovn_s32(x.q[2]), vmovn_s32(x.q[3]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

static inline void storeShorts(int16_t *p, I16 x) {
  vst1q_s16(p, vcombine_s16(vmovn_s32(x.q[0]), vmovn_s32(x.q[1])));
  vst1q_s16(p + 8, vcombine_s16(vmovn_s32(x.q[2]), vmovn_s32(x.q[3])));
}

// The first of all pairs, then the second.
struct Pairs {
  int16x8_t q[4];
};
using Both = int16x4_t;
static inline Pairs bytesAsPairs(const uint8_t *rows, size_t stride) {
  const int8x16_t first = vreinterpretq_s8_u8(vld1q_u8(rows)), second = vreinterpretq_s8_u8(vld1q_u8(rows + stride));
  return {{vmovl_s8(vget_low_s8(first)), vmovl_s8(vget_high_s8(first)), vmovl_s8(vget_low_s8(second)),
           vmovl_s8(vget_high_s8(second))}};
}
static inline void storePairs(int16_t *p, Pairs x) {
  for (int i = 0; i < 4; i++) vst1q_s16(p + 8 * i, x.q[i]);
}
static inline Pairs loadPairs(const int16_t *p) {
  return each<Pairs>([&](int i) { return vld1q_s16(p + 8 * i); });
}
static inline Both both(const int16_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return vreinterpret_s16_s32(vdup_n_s32(together));
}
static inline I16 dotPairs(I16 acc, Pairs x, Both y) {
  return each<I16>([&](int i) {
    const int16x8_t first = x.q[i / 2], second = x.q[2 + i / 2];
    const bool low = i % 2 == 0;
    const int32x4_t sum = vmlal_lane_s16(acc.q[i], low ? vget_low_s16(first) : vget_high_s16(first), y, 0);
    return vmlal_lane_s16(sum, low ? vget_low_s16(second) : vget_high_s16(second), y, 1);
  });
}

using Four = int8x16_t;
static inline Four four(const int8_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return vreinterpretq_s8_s32(vdupq_n_s32(together));
}
struct Weights {
  uint8x16_t q[4];
};
static inline Weights loadHalves(const uint8_t *p) {
  return each<Weights>([&](int i) { return vld1q_u8(p + 16 * i); });
}
static inline Weights lowHalf(Weights w) {
  return each<Weights>([&](int i) { return vandq_u8(w.q[i], vdupq_n_u8(15)); });
}
static inline Weights highHalf(Weights w) {
  return each<Weights>([&](int i) { return vshrq_n_u8(w.q[i], 4); });
}
#if defined(__ARM_FEATURE_MATMUL_INT8)
constexpr int32_t kOffset8 = 128;
static inline Weights loadWeights(const uint8_t *p) { return loadHalves(p); }
static inline I16 dot8(I16 acc, Weights w, Four a) {
  return each<I16>([&](int i) { return vusdotq_s32(acc.q[i], w.q[i], a); });
}
#else
// The instruction multiplies bytes with signs on both sides: the weights' offset is taken out first.
constexpr int32_t kOffset8 = 0;
static inline Weights loadWeights(const uint8_t *p) {
  return each<Weights>([&](int i) { return veorq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(128)); });
}
static inline I16 dot8(I16 acc, Weights w, Four a) {
  return each<I16>([&](int i) { return vdotq_s32(acc.q[i], vreinterpretq_s8_u8(w.q[i]), a); });
}
#endif
static inline I16 dot4(I16 acc, Weights w, Four a) { return dot8(acc, w, a); }

static inline void prefetch(const void *p) { __builtin_prefetch(p); }

constexpr size_t kRows8 = 2;
constexpr size_t kRows4 = 2;
constexpr size_t kQueries = 1;
constexpr size_t kTiles = 4;
constexpr size_t kPairQueries = 1;
// Sums of several steps together g++ would keep in memory.
constexpr int kUnroll = 1;
constexpr int kUnroll8 = 16;

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
