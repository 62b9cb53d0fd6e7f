// Products with 4-bit weights and 8-bit activations, both with a scale for each block of 64 values.
//
// Within a block sums are integers. They become float32 in the order of the blocks, whatever rows are
// computed together.
#include "epilogue.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

constexpr size_t kAhead4 = 4096;
constexpr int32_t kOffset4 = 8;
// Of one block of sixteen columns.
constexpr size_t kBlockBytes = kBlock * kLanes / 2;

template <size_t R>
static inline void tile4(const Linear &linear, size_t row, size_t pair) {
  // A single row has too few sums to keep the multipliers busy: it has two of each.
  constexpr size_t kSums = R == 1 ? 2 : 1;
  const Quantized &input = linear.input;
  const size_t blocks = input.blocks(), firstScale = input.scaleOf(row);
  const uint8_t *weights = linear.weights + pair * blocks * 2 * kBlockBytes;
  const uint16_t *scales = static_cast<const uint16_t *>(linear.scales) + pair * blocks * kPair;
  const int8_t *x = input.valuesOf(row);
  const float *ofRows = input.scales + firstScale;
  const int32_t *sumsOfRows = input.sums + firstScale;
  F16 totals[R][2];
  for (size_t r = 0; r < R; r++) totals[r][0] = totals[r][1] = zeros();
  for (size_t block = 0; block < blocks; block++, scales += kPair, weights += 2 * kBlockBytes) {
    I16 sums[R][2][kSums];
    for (size_t r = 0; r < R; r++) {
      const I16 start = splatInt(-kOffset4 * sumsOfRows[r]);
      for (size_t half = 0; half < 2; half++) {
        for (size_t s = 0; s < kSums; s++) sums[r][half][s] = s == 0 ? start : splatInt(0);
      }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++, x += 2 * Quantized::kStep) {
      const uint8_t *first = weights + i * 4 * kLanes, *second = first + kBlockBytes;
      prefetch(first + kAhead4);
      prefetch(second + kAhead4);
      const Weights both[2] = {loadHalves(first), loadHalves(second)};
#pragma GCC unroll 8
      for (size_t r = 0; r < R; r++) {
        const Four even = four(x + 4 * r), odd = four(x + Quantized::kStep + 4 * r);
        for (size_t half = 0; half < 2; half++) {
          sums[r][half][0] = dot4(sums[r][half][0], lowHalf(both[half]), even);
          I16 &other = sums[r][half][kSums - 1];
          other = dot4(other, highHalf(both[half]), odd);
        }
      }
    }
    for (size_t half = 0; half < 2; half++) {
      const F16 ofColumns = loadHalf(scales + half * kLanes);
      for (size_t r = 0; r < R; r++) {
        const F16 scale = mul(ofColumns, splat(ofRows[r]));
        I16 sum = sums[r][half][0];
        if (kSums == 2) sum = addInt(sum, sums[r][half][kSums - 1]);
        totals[r][half] = fma(toFloat(sum), scale, totals[r][half]);
      }
    }
    ofRows += kRowGroup;
    sumsOfRows += kRowGroup;
  }
  for (size_t r = 0; r < R; r++) finish(linear, row + r, pair, totals[r][0], totals[r][1]);
}

template <size_t R>
static inline void tiles4(const Linear &linear, size_t row, size_t endRow, size_t pair) {
  for (; row + R <= endRow; row += R) tile4<R>(linear, row, pair);
  if constexpr (R > 1) tiles4<R / 2>(linear, row, endRow, pair);
}

void linear4(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  for (size_t pair = firstPair; pair < endPair; pair++) {
    tiles4<kRows4>(linear, firstRow, endRow, pair);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
