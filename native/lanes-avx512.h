// Sixteen numbers in a register of AVX-512; see lanes-scalar.h for what the functions mean.
#pragma once

#include <immintrin.h>

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

using F16 = __m512;
using I16 = __m512i;

static inline F16 splat(float x) { return _mm512_set1_ps(x); }
static inline F16 load(const float *p) { return _mm512_loadu_ps(p); }
static inline void store(float *p, F16 x) { _mm512_storeu_ps(p, x); }
static inline F16 loadHalf(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
static inline void storeHalf(uint16_t *p, F16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline F16 loadBytes(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
}
static inline F16 add(F16 a, F16 b) { return _mm512_add_ps(a, b); }
static inline F16 sub(F16 a, F16 b) { return _mm512_sub_ps(a, b); }
static inline F16 mul(F16 a, F16 b) { return _mm512_mul_ps(a, b); }
static inline F16 divide(F16 a, F16 b) { return _mm512_div_ps(a, b); }
static inline F16 fma(F16 a, F16 b, F16 c) { return _mm512_fmadd_ps(a, b, c); }
static inline F16 fmaNegative(F16 a, F16 b, F16 c) { return _mm512_fnmadd_ps(a, b, c); }
static inline F16 larger(F16 a, F16 b) { return _mm512_max_ps(a, b); }
static inline F16 smaller(F16 a, F16 b) { return _mm512_min_ps(a, b); }
static inline F16 within(F16 x, size_t first, size_t end, F16 y) {
  const uint32_t below = end >= kLanes ? 0xffff : (1u << end) - 1;
  const uint32_t from = first >= kLanes ? 0 : 0xffffu << first;
  return _mm512_mask_blend_ps(__mmask16(below & from), y, x);
}
static inline F16 swapLanes(F16 x, size_t by) {
  if (by >= 4) return by == 8 ? _mm512_shuffle_f32x4(x, x, 0x4e) : _mm512_shuffle_f32x4(x, x, 0xb1);
  return by == 2 ? _mm512_permute_ps(x, 0x4e) : _mm512_permute_ps(x, 0xb1);
}
static inline float sum(F16 x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
static inline float largest(F16 x) { return _mm512_reduce_max_ps(x); }

static inline I16 splatInt(int32_t x) { return _mm512_set1_epi32(x); }
static inline I16 loadInt(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline I16 addInt(I16 a, I16 b) { return _mm512_add_epi32(a, b); }
static inline I16 shiftLeft(I16 x, int by) { return _mm512_slli_epi32(x, unsigned(by)); }
static inline F16 toFloat(I16 x) { return _mm512_cvtepi32_ps(x); }
static inline I16 toInt(F16 x) { return _mm512_cvtps_epi32(x); }
static inline F16 powerOfTwo(I16 x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(127)), 23));
}
static inline I16 largerMagnitude(I16 most, F16 x) {
  const I16 bits = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  return _mm512_max_epi32(most, bits);
}
static inline int32_t largestInt(I16 x) { return _mm512_reduce_max_epi32(x); }
static inline int32_t sumInt(I16 x) { return _mm512_reduce_add_epi32(x); }
static inline void storeBytes(int8_t *p, I16 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtepi32_epi8(x));
}

static inline void storeShorts(int16_t *p, I16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtepi32_epi16(x));
}

using Pairs = __m512i;
using Both = __m512i;
static inline Pairs bytesAsPairs(const uint8_t *rows, size_t stride) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i *>(rows));
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i *>(rows + stride));
  const __m256i low = _mm256_castsi128_si256(_mm_unpacklo_epi8(first, second));
  return _mm512_cvtepi8_epi16(_mm256_inserti128_si256(low, _mm_unpackhi_epi8(first, second), 1));
}
static inline void storePairs(int16_t *p, Pairs x) { _mm512_storeu_si512(p, x); }
static inline Pairs loadPairs(const int16_t *p) { return _mm512_loadu_si512(p); }
static inline Both both(const int16_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return _mm512_set1_epi32(together);
}
static inline I16 dotPairs(I16 acc, Pairs x, Both y) {
  // Copies that g++ 12 makes of the intrinsic's sums do not fit into registers.
  asm("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(y));
  return acc;
}

using Weights = __m512i;
using Four = __m512i;
constexpr int32_t kOffset8 = 128;
static inline Weights loadWeights(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline Weights loadHalves(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline Weights lowHalf(Weights w) { return _mm512_and_si512(w, _mm512_set1_epi8(15)); }
static inline Weights highHalf(Weights w) { return lowHalf(_mm512_srli_epi16(w, 4)); }
static inline Four four(const int8_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return _mm512_set1_epi32(together);
}
static inline I16 dot8(I16 acc, Weights w, Four a) { return _mm512_dpbusd_epi32(acc, w, a); }
static inline I16 dot4(I16 acc, Weights w, Four a) { return _mm512_dpbusd_epi32(acc, w, a); }

static inline void prefetch(const void *p) { _mm_prefetch(p, _MM_HINT_T0); }

constexpr size_t kRows8 = 8;
constexpr size_t kRows4 = 8;
constexpr size_t kQueries = 4;
constexpr size_t kTiles = 4;
constexpr size_t kPairQueries = 4;
constexpr int kUnroll = 8;
constexpr int kUnroll8 = 16;

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
