// Sixteen numbers in two registers of AVX2, with or without its products of bytes (AVX-VNNI); see
// lanes-scalar.h for what the functions mean.
#pragma once

#include <immintrin.h>

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

struct F16 {
  __m256 a, b;
};
struct I16 {
  __m256i a, b;
};

static inline F16 splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline F16 load(const float *p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
static inline void store(float *p, F16 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
static inline __m128i load128(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
static inline F16 loadHalf(const uint16_t *p) {
  return {_mm256_cvtph_ps(load128(p)), _mm256_cvtph_ps(load128(p + 8))};
}
static inline void storeHalf(uint16_t *p, F16 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
static inline F16 loadBytes(const int8_t *p) {
  const __m128i bytes = load128(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
static inline F16 add(F16 x, F16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
static inline F16 sub(F16 x, F16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
static inline F16 mul(F16 x, F16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
static inline F16 divide(F16 x, F16 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
static inline F16 fma(F16 x, F16 y, F16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
static inline F16 fmaNegative(F16 x, F16 y, F16 z) {
  return {_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)};
}
static inline F16 larger(F16 x, F16 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
static inline F16 smaller(F16 x, F16 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
static inline __m256 laneMask(size_t offset, size_t first, size_t end) {
  const __m256i lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                        _mm256_set1_epi32(int32_t(offset)));
  const __m256i tooLow = _mm256_cmpgt_epi32(_mm256_set1_epi32(int32_t(first)), lane);
  const __m256i lowEnough = _mm256_cmpgt_epi32(_mm256_set1_epi32(int32_t(end)), lane);
  return _mm256_castsi256_ps(_mm256_andnot_si256(tooLow, lowEnough));
}
static inline F16 within(F16 x, size_t first, size_t end, F16 y) {
  return {_mm256_blendv_ps(y.a, x.a, laneMask(0, first, end)),
          _mm256_blendv_ps(y.b, x.b, laneMask(8, first, end))};
}
static inline F16 swapLanes(F16 x, size_t by) {
  if (by == 8) return {x.b, x.a};
  if (by == 4) return {_mm256_permute2f128_ps(x.a, x.a, 1), _mm256_permute2f128_ps(x.b, x.b, 1)};
  if (by == 2) return {_mm256_permute_ps(x.a, 0x4e), _mm256_permute_ps(x.b, 0x4e)};
  return {_mm256_permute_ps(x.a, 0xb1), _mm256_permute_ps(x.b, 0xb1)};
}
static inline float sum(F16 x) {
  const __m256 eight = _mm256_add_ps(x.a, x.b);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
}
static inline float largest(F16 x) {
  const __m256 eight = _mm256_max_ps(x.a, x.b);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}

static inline I16 splatInt(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
static inline I16 loadInt(const int32_t *p) {
  const __m256i *halves = reinterpret_cast<const __m256i *>(p);
  return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}
static inline I16 addInt(I16 x, I16 y) {
  return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
static inline I16 shiftLeft(I16 x, int by) {
  return {_mm256_slli_epi32(x.a, by), _mm256_slli_epi32(x.b, by)};
}
static inline F16 toFloat(I16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
static inline I16 toInt(F16 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
static inline __m256 powerOfTwo(__m256i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(x, _mm256_set1_epi32(127)), 23));
}
static inline F16 powerOfTwo(I16 x) { return {powerOfTwo(x.a), powerOfTwo(x.b)}; }
static inline I16 largerMagnitude(I16 most, F16 x) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  return {_mm256_max_epi32(most.a, _mm256_and_si256(_mm256_castps_si256(x.a), mask)),
          _mm256_max_epi32(most.b, _mm256_and_si256(_mm256_castps_si256(x.b), mask))};
}
static inline int32_t largestInt(I16 x) {
  const __m256i eight = _mm256_max_epi32(x.a, x.b);
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
static inline int32_t sumInt(I16 x) {
  const __m256i eight = _mm256_add_epi32(x.a, x.b);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
static inline void storeBytes(int8_t *p, I16 x) {
  // Packs quarters of registers, so that their order has to be put right.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), bytes);
}

static inline void storeShorts(int16_t *p, I16 x) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), words);
}

struct Pairs {
  __m256i a, b;
};
using Both = __m256i;
static inline Pairs bytesAsPairs(const uint8_t *rows, size_t stride) {
  const __m128i first = load128(rows), second = load128(rows + stride);
  return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second)),
          _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second))};
}
static inline void storePairs(int16_t *p, Pairs x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p + 16), x.b);
}
static inline Pairs loadPairs(const int16_t *p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p + 16))};
}
static inline Both both(const int16_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return _mm256_set1_epi32(together);
}
static inline I16 dotPairs(I16 acc, Pairs x, Both y) {
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(x.a, y)), _mm256_add_epi32(acc.b, _mm256_madd_epi16(x.b, y))};
}

struct Weights {
  __m256i a, b;
};
static inline Weights loadHalves(const uint8_t *p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p + 32))};
}
static inline Weights lowHalf(Weights w) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(w.a, mask), _mm256_and_si256(w.b, mask)};
}
static inline Weights highHalf(Weights w) {
  return lowHalf({_mm256_srli_epi16(w.a, 4), _mm256_srli_epi16(w.b, 4)});
}
static inline __m256i fourEach(const int8_t *p) {
  int32_t together;
  memcpy(&together, p, sizeof together);
  return _mm256_set1_epi32(together);
}

#if defined(__AVXVNNI__)
using Four = __m256i;
constexpr int32_t kOffset8 = 128;
static inline Weights loadWeights(const uint8_t *p) { return loadHalves(p); }
static inline Four four(const int8_t *p) { return fourEach(p); }
static inline I16 dot8(I16 acc, Weights w, Four x) {
  return {_mm256_dpbusd_avx_epi32(acc.a, w.a, x), _mm256_dpbusd_avx_epi32(acc.b, w.b, x)};
}
static inline I16 dot4(I16 acc, Weights w, Four x) { return dot8(acc, w, x); }
#else
// Sums of two products are of 16 bits here and saturate: with a sign on both sides they fit, 2 * 128 *
// 127. The instruction wants one side without: the weights' magnitudes, their signs going to the
// activations, of which none is -128.
using Four = __m256i;
constexpr int32_t kOffset8 = 0;
static inline Weights loadWeights(const uint8_t *p) {
  const Weights w = loadHalves(p);
  const __m256i offset = _mm256_set1_epi8(-128);
  return {_mm256_xor_si256(w.a, offset), _mm256_xor_si256(w.b, offset)};
}
static inline Four four(const int8_t *p) { return fourEach(p); }
static inline __m256i addProducts(__m256i acc, __m256i withoutSign, __m256i withSign) {
  const __m256i twos = _mm256_maddubs_epi16(withoutSign, withSign);
  return _mm256_add_epi32(acc, _mm256_madd_epi16(twos, _mm256_set1_epi16(1)));
}
static inline I16 dot8(I16 acc, Weights w, Four x) {
  return {addProducts(acc.a, _mm256_abs_epi8(w.a), _mm256_sign_epi8(x, w.a)),
          addProducts(acc.b, _mm256_abs_epi8(w.b), _mm256_sign_epi8(x, w.b))};
}
static inline I16 dot4(I16 acc, Weights w, Four x) {
  return {addProducts(acc.a, w.a, x), addProducts(acc.b, w.b, x)};
}
#endif

static inline void prefetch(const void *p) {
  _mm_prefetch(static_cast<const char *>(p), _MM_HINT_T0);
}

constexpr size_t kRows8 = 2;
constexpr size_t kRows4 = 2;
constexpr size_t kQueries = 1;
constexpr size_t kTiles = 4;
constexpr size_t kPairQueries = 1;
constexpr int kUnroll = 4;
constexpr int kUnroll8 = 16;

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
