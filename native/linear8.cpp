// Products with 8-bit weights, a scale for each column, and 8-bit activations, a scale for each row.
//
// A tile is some rows by a pair of columns, with all sums in registers: every vector of weights is read
// once for all rows of the tile. One row reads weights at the speed of memory; several share what the
// first has brought into the cache.
#include "epilogue.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Bytes that memory is asked for in advance: as many as arrive while it answers.
constexpr size_t kAhead8 = 4096;

template <size_t R>
static inline void tile8(const Linear &linear, size_t row, size_t pair) {
  const Quantized &input = linear.input;
  const size_t padded = input.padded;
  const int8_t *x = input.values + row * padded;
  const uint8_t *weights = linear.weights + pair * padded * kPair;
  I16 sums[R][2];
  for (size_t r = 0; r < R; r++) {
    sums[r][0] = sums[r][1] = splatInt(-kOffset8 * input.sums[row + r]);
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < padded; k += 4, weights += 4 * kPair) {
    const Weights first = loadWeights(weights), second = loadWeights(weights + 4 * kLanes);
    prefetch(weights + kAhead8);
    prefetch(weights + kAhead8 + 4 * kLanes);
#pragma GCC unroll 8
    for (size_t r = 0; r < R; r++) {
      const Four activations = four(x + r * padded + k);
      sums[r][0] = dot8(sums[r][0], first, activations);
      sums[r][1] = dot8(sums[r][1], second, activations);
    }
  }
  const float *scales = static_cast<const float *>(linear.scales) + pair * kPair;
  for (size_t r = 0; r < R; r++) {
    const F16 ofRow = splat(input.scales[row + r]);
    finish(linear, row + r, pair, mul(toFloat(sums[r][0]), mul(load(scales), ofRow)),
           mul(toFloat(sums[r][1]), mul(load(scales + kLanes), ofRow)));
  }
}

// The largest tiles first, then what is left in ever smaller ones.
template <size_t R>
static inline void tiles8(const Linear &linear, size_t row, size_t endRow, size_t pair) {
  for (; row + R <= endRow; row += R) tile8<R>(linear, row, pair);
  if constexpr (R > 1) tiles8<R / 2>(linear, row, endRow, pair);
}

void linear8(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  for (size_t pair = firstPair; pair < endPair; pair++) {
    tiles8<kRows8>(linear, firstRow, endRow, pair);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
