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
  const Quantized &input = linear.input;
  const size_t padded = input.padded, blocks = input.blocks();
  const uint8_t *weights = linear.weights + pair * blocks * 2 * kBlockBytes;
  const uint16_t *scales = static_cast<const uint16_t *>(linear.scales) + pair * blocks * kPair;
  F16 totals[2][R];
  for (size_t r = 0; r < R; r++) totals[0][r] = totals[1][r] = zeros();
  for (size_t block = 0; block < blocks; block++) {
    const int8_t *x = input.values + row * padded + block * kBlock;
#pragma GCC unroll 2
    for (size_t half = 0; half < 2; half++) {
      I16 low[R], high[R];
      for (size_t r = 0; r < R; r++) {
        low[r] = splatInt(-kOffset4 * input.sums[(row + r) * blocks + block]);
        high[r] = splatInt(0);
      }
#pragma GCC unroll 8
      for (size_t i = 0; i < 8; i++, weights += 4 * kLanes) {
        const Weights both = loadHalves(weights);
        prefetch(weights + kAhead4);
        const Weights even = lowHalf(both), odd = highHalf(both);
#pragma GCC unroll 4
        for (size_t r = 0; r < R; r++) {
          low[r] = dot4(low[r], even, four(x + r * padded + 8 * i));
          high[r] = dot4(high[r], odd, four(x + r * padded + 8 * i + 4));
        }
      }
      const F16 ofColumns = loadHalf(scales);
      scales += kLanes;
      for (size_t r = 0; r < R; r++) {
        const F16 scale = mul(ofColumns, splat(input.scales[(row + r) * blocks + block]));
        totals[half][r] = fma(toFloat(addInt(low[r], high[r])), scale, totals[half][r]);
      }
    }
  }
  for (size_t r = 0; r < R; r++) finish(linear, row + r, pair, totals[0][r], totals[1][r]);
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
