// Products of four or eight rows on NEON, in strips: what is multiplied and summed at a time is eight
// columns of a pair, so that sums of eight rows are half of the registers. Two rows by all columns of a
// pair, as a tile has them, are as many sums, but vectors of weights are read four times as often.
//
// The layouts of weights and activations (kernels.h) are those of tiles. With i8mm a register has two
// rows by two columns of sums, and its instruction multiplies eight values of each: a vector of four
// columns and that of their next four values are zipped to two such operands, and so are those of rows,
// once for all strips.
//
// Other instruction sets have no strips.
#pragma once

#include "epilogue.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Factors of sums: of each block of a row, and of a column at the end; of all of a row, and of
// a column at the end; of each block of a row and of a column.
enum class Scales { kColumns, kStep, kBlocks };

#if defined(__ARM_FEATURE_DOTPROD)

constexpr size_t kStrip = 8;
constexpr size_t kStrips = kPair / kStrip;

#if defined(__ARM_FEATURE_MATMUL_INT8)
constexpr size_t kRowsOfSums = 2;
#else
constexpr size_t kRowsOfSums = 1;
#endif
// Registers with the sums of a strip, of one row or of two together.
constexpr size_t kSumsOfRows = kStrip * kRowsOfSums / 4;

template <size_t R, class Vector>
using Strip = Vector[R / kRowsOfSums][kSumsOfRows];

// Eight values of four columns: the first four, and the others.
struct Columns {
  uint8x16_t first, others;
};

// @param at of the strip's columns and the step's values, four columns each
template <size_t Bits>
static inline Columns columnsOf(const uint8_t *at) {
  if constexpr (Bits == 8) return {vld1q_u8(at), vld1q_u8(at + 4 * kPair)};
  const uint8x16_t both = vld1q_u8(at);
  return {vandq_u8(both, vdupq_n_u8(15)), vshrq_n_u8(both, 4)};
}

#if defined(__ARM_FEATURE_MATMUL_INT8)

static inline uint32x4_t words(uint8x16_t bytes) { return vreinterpretq_u32_u8(bytes); }

// A block of rows, of which an operand has eight values of two.
template <size_t R, size_t Block>
struct Rows {
  int8x16_t pairs[Block / 8][R / 2];

  explicit Rows(const int8_t *x) {
    for (size_t step = 0; step < Block / 8; step++, x += 2 * Quantized::kStep) {
      for (size_t r = 0; r < R; r += 4) {
        const int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(x + 4 * r));
        const int32x4_t others = vreinterpretq_s32_s8(vld1q_s8(x + 4 * r + Quantized::kStep));
        pairs[step][r / 2] = vreinterpretq_s8_s32(vzip1q_s32(first, others));
        pairs[step][r / 2 + 1] = vreinterpretq_s8_s32(vzip2q_s32(first, others));
      }
    }
  }
};

// Adds the products of a step's eight values: a register of sums is {column 0 by row 0, 0 by 1, 1 by 0,
// 1 by 1}.
template <size_t Bits, size_t R, size_t Block>
static inline void multiply(Strip<R, int32x4_t> &sums, const uint8_t *weights, const Rows<R, Block> &rows,
                            size_t step) {
  for (size_t i = 0; i < kStrip / 4; i++) {
    const Columns four = columnsOf<Bits>(weights + 16 * i);
    const uint8x16_t low = vreinterpretq_u8_u32(vzip1q_u32(words(four.first), words(four.others)));
    const uint8x16_t high = vreinterpretq_u8_u32(vzip2q_u32(words(four.first), words(four.others)));
    for (size_t p = 0; p < R / 2; p++) {
      sums[p][2 * i] = vusmmlaq_s32(sums[p][2 * i], low, rows.pairs[step][p]);
      sums[p][2 * i + 1] = vusmmlaq_s32(sums[p][2 * i + 1], high, rows.pairs[step][p]);
    }
  }
}

// Numbers of two rows, for all of their sums.
static inline int32x4_t ofRows(const int32_t *p) { return vcombine_s32(vld1_s32(p), vld1_s32(p)); }
static inline float32x4_t ofRows(const float *p) { return vcombine_f32(vld1_f32(p), vld1_f32(p)); }
// Numbers of four columns, for those of their sums that are in one of two registers.
static inline float32x4_t ofColumns(float32x4_t four, size_t sum) {
  return sum % 2 == 0 ? vzip1q_f32(four, four) : vzip2q_f32(four, four);
}
// Four columns of a row.
static inline float32x4_t rowOf(const float32x4_t (*strip)[kSumsOfRows], size_t r, size_t four) {
  const float32x4_t low = strip[r / 2][2 * four], high = strip[r / 2][2 * four + 1];
  return r % 2 == 0 ? vuzp1q_f32(low, high) : vuzp2q_f32(low, high);
}

#else

// A block of rows as it lies in memory: four values of four rows are an operand.
template <size_t R, size_t Block>
struct Rows {
  const int8_t *values;

  explicit Rows(const int8_t *x) : values(x) {}
};

template <size_t Bits, size_t R, size_t Block>
static inline void multiply(Strip<R, int32x4_t> &sums, const uint8_t *weights, const Rows<R, Block> &rows,
                            size_t step) {
  for (size_t i = 0; i < kStrip / 4; i++) {
    const Columns four = columnsOf<Bits>(weights + 16 * i);
    for (size_t part = 0; part < 2; part++) {
      const uint8x16_t offset = vdupq_n_u8(Bits == 8 ? 128 : 0);
      const int8x16_t w = vreinterpretq_s8_u8(veorq_u8(part == 0 ? four.first : four.others, offset));
      for (size_t r = 0; r < R; r += 4) {
        const int8x16_t x = vld1q_s8(rows.values + (2 * step + part) * Quantized::kStep + 4 * r);
        sums[r][i] = vdotq_laneq_s32(sums[r][i], w, x, 0);
        sums[r + 1][i] = vdotq_laneq_s32(sums[r + 1][i], w, x, 1);
        sums[r + 2][i] = vdotq_laneq_s32(sums[r + 2][i], w, x, 2);
        sums[r + 3][i] = vdotq_laneq_s32(sums[r + 3][i], w, x, 3);
      }
    }
  }
}

static inline int32x4_t ofRows(const int32_t *p) { return vdupq_n_s32(*p); }
static inline float32x4_t ofRows(const float *p) { return vdupq_n_f32(*p); }
static inline float32x4_t ofColumns(float32x4_t four, size_t) { return four; }
static inline float32x4_t rowOf(const float32x4_t (*strip)[kSumsOfRows], size_t r, size_t four) {
  return strip[r][four];
}

#endif

static inline float32x4_t fourHalves(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

// Rows from `row` on, of which those before `endRow` are written: the others' places are there.
template <size_t R, size_t Bits, size_t Block, Scales S>
static void multiplyRows(const Linear &linear, size_t row, size_t endRow, size_t pair) {
  constexpr int32_t kOffset = Bits == 4 ? 8 : kOffset8;
  // From a step of eight values to the next, and from a strip to the next: two are half of a pair.
  constexpr size_t kStepBytes = Bits == 8 ? 8 * kPair : 4 * kLanes;
  constexpr size_t kHalfBytes = Bits == 8 ? 4 * kLanes : Block * kLanes / 2;
  const Quantized &input = linear.input;
  const size_t blocks = input.blocks(), pairBytes = input.padded * kPair * Bits / 8;
  const uint8_t *weights = linear.weights + pair * pairBytes;
  const uint8_t *ahead = weights + pairBytes;
  const uint16_t *scales = static_cast<const uint16_t *>(linear.scales) + pair * blocks * kPair;
  const uint16_t *offsets = linear.offsets ? linear.offsets + pair * blocks * kPair : nullptr;
  const int8_t *x = input.valuesOf(row);
  const size_t firstScale = input.scaleOf(row);
  const float *scalesOfRows = input.scales + firstScale;
  const int32_t *sumsOfRows = input.sums + firstScale;
  Strip<R, float32x4_t> totals[kStrips] = {};
  // With one scale for all they stay integers from block to block.
  Strip<R, int32x4_t> kept[kStrips];
  for (size_t block = 0; block < blocks; block++) {
    const Rows<R, Block> rows(x);
    const bool isFirst = S != Scales::kStep || block == 0, isLast = S != Scales::kStep || block + 1 == blocks;
    for (size_t strip = 0; strip < kStrips; strip++) {
      Strip<R, int32x4_t> sums;
      for (size_t p = 0; p < R / kRowsOfSums; p++) {
        // Without signs: of rows that are not there it is anything, and may overflow.
        const uint32x4_t ofValues = vreinterpretq_u32_s32(ofRows(sumsOfRows + p * kRowsOfSums));
        const int32x4_t start = vreinterpretq_s32_u32(vmulq_n_u32(ofValues, uint32_t(-kOffset)));
        for (size_t i = 0; i < kSumsOfRows; i++) sums[p][i] = isFirst ? start : kept[strip][p][i];
      }
      const uint8_t *w = weights + strip / 2 * kHalfBytes + strip % 2 * 4 * kStrip;
#pragma GCC unroll kUnroll
      for (size_t step = 0; step < Block / 8; step++, w += kStepBytes) {
        // All steps of all strips together ask for the next pair.
        prefetch(ahead);
        ahead += kPair / kStrips * Bits;
        multiply<Bits>(sums, w, rows, step);
      }
      if (!isLast) {
        memcpy(kept[strip], sums, sizeof sums);
        continue;
      }
      for (size_t p = 0; p < R / kRowsOfSums; p++) {
        const float32x4_t ofRow =
            S == Scales::kStep ? vdupq_n_f32(input.step) : ofRows(scalesOfRows + p * kRowsOfSums);
        for (size_t i = 0; i < kSumsOfRows; i++) {
          float32x4_t scale = ofRow;
          if constexpr (S == Scales::kBlocks) {
            const uint16_t *four = scales + strip * kStrip + i / kRowsOfSums * 4;
            scale = vmulq_f32(ofColumns(fourHalves(four), i), ofRow);
          }
          totals[strip][p][i] = vfmaq_f32(totals[strip][p][i], vcvtq_f32_s32(sums[p][i]), scale);
          if (S == Scales::kBlocks && offsets) {
            const float32x4_t offset = ofColumns(fourHalves(offsets + strip * kStrip + i / kRowsOfSums * 4), i);
            const float32x4_t sum = vmulq_f32(ofRow, vcvtq_f32_s32(ofRows(sumsOfRows + p * kRowsOfSums)));
            totals[strip][p][i] = vfmaq_f32(totals[strip][p][i], offset, sum);
          }
        }
      }
    }
    weights += Block * kPair * Bits / 8;
    x += Block / 4 * Quantized::kStep;
    scalesOfRows += kRowGroup;
    sumsOfRows += kRowGroup;
    scales += kPair;
    if (offsets) offsets += kPair;
  }
  F16 products[R][2];
  const size_t count = endRow - row < R ? endRow - row : R;
  for (size_t r = 0; r < count; r++) {
    F16 *halves = products[r];
    for (size_t i = 0; i < 8; i++) halves[i / 4].q[i % 4] = rowOf(totals[i / 2], r, i % 2);
    if constexpr (S != Scales::kBlocks) {
      const float *ofColumns = static_cast<const float *>(linear.scales) + pair * kPair;
      for (size_t i = 0; i < 2; i++) halves[i] = mul(halves[i], load(ofColumns + i * kLanes));
    }
  }
  finishTile(linear, row, count, pair, products);
}

// Computes rows in strips, from the first one of a group on. Returns the first of those that are left,
// which are too few: five and six rows are four and a tile's.
template <size_t Bits, size_t Block, Scales S>
static inline size_t multiplyStrips(const Linear &linear, size_t row, size_t endRow, size_t pair) {
  for (; row + 7 <= endRow; row += 8) multiplyRows<8, Bits, Block, S>(linear, row, endRow, pair);
  for (; row + 3 <= endRow; row += 4) multiplyRows<4, Bits, Block, S>(linear, row, endRow, pair);
  return row < endRow ? row : endRow;
}

#else

template <size_t Bits, size_t Block, Scales S>
static inline size_t multiplyStrips(const Linear &, size_t row, size_t, size_t) {
  return row;
}

#endif

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
