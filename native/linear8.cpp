// Products with 8-bit weights, a scale for each column, and 8-bit activations, a scale for each block or
// one for all.
//
// A tile is some rows by a pair of columns, with a block's sums in registers: every vector of weights is
// read once for all rows of the tile. Within a block sums are integers. They become float32 in the order
// of the blocks, whatever rows are computed together. With one scale for all they stay integers to a
// row's end.
#include "epilogue.h"
#include "lanes.h"
#include "strips-neon.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Bytes of a pair of columns, four values of each.
constexpr size_t kStepBytes = 4 * kPair;
// Columns of an output whose memory is asked for before it is written.
constexpr size_t kManyColumns = 16384;

// Weights that come next, which tiles ask memory for while they compute.
struct Next {
  const uint8_t *from;
  size_t step;  // bytes for each of the tile's own steps
};

template <size_t R, bool HasStep>
static inline void tile8(const Linear &linear, size_t row, size_t pair, Next next) {
  // A single row has too few sums to keep the multipliers busy: it has two of each.
  constexpr size_t kSums = R == 1 ? 2 : 1;
  const Quantized &input = linear.input;
  const int8_t *x = input.valuesOf(row);
  const size_t firstScale = input.scaleOf(row), blocks = input.blocks();
  const float *ofRows = input.scales + firstScale;
  const int32_t *sumsOfRows = input.sums + firstScale;
  const uint8_t *weights = linear.weights + pair * input.padded * kPair;
  F16 totals[R][2];
  for (size_t r = 0; r < R; r++) totals[r][0] = totals[r][1] = zeros();
  I16 sums[R][2][kSums];
  for (size_t block = 0; block < blocks; block++, ofRows += kRowGroup, sumsOfRows += kRowGroup) {
    for (size_t r = 0; r < R && (!HasStep || block == 0); r++) {
      const I16 start = splatInt(-kOffset8 * sumsOfRows[r]);
      for (I16(&ofHalf)[kSums] : sums[r]) {
        for (size_t s = 0; s < kSums; s++) ofHalf[s] = s == 0 ? start : splatInt(0);
      }
    }
#pragma GCC unroll kUnroll8
    for (size_t step = 0; step < kBlock / 4; step++, weights += kStepBytes, x += Quantized::kStep) {
      const Weights first = loadWeights(weights), second = loadWeights(weights + 4 * kLanes);
      // A step of a single tile's is two lines of the cache.
      prefetch(next.from);
      prefetch(next.from + next.step / 2);
      next.from += next.step;
#pragma GCC unroll 8
      for (size_t r = 0; r < R; r++) {
        const Four activations = four(x + 4 * r);
        sums[r][0][step % kSums] = dot8(sums[r][0][step % kSums], first, activations);
        sums[r][1][step % kSums] = dot8(sums[r][1][step % kSums], second, activations);
      }
    }
    if (HasStep && block + 1 < blocks) continue;
    for (size_t r = 0; r < R; r++) {
      const F16 scale = splat(HasStep ? input.step : ofRows[r]);
      for (size_t half = 0; half < 2; half++) {
        I16 sum = sums[r][half][0];
        if (kSums == 2) sum = addInt(sum, sums[r][half][kSums - 1]);
        totals[r][half] = fma(toFloat(sum), scale, totals[r][half]);
      }
    }
  }
  const float *scales = static_cast<const float *>(linear.scales) + pair * kPair;
  F16 products[R][2];
  for (size_t r = 0; r < R; r++) {
    for (size_t half = 0; half < 2; half++) products[r][half] = mul(totals[r][half], load(scales + half * kLanes));
  }
  finishTile(linear, row, R, pair, products);
}

// The largest tiles first, then what is left in ever smaller ones.
template <size_t R, bool HasStep>
static inline void tiles8(const Linear &linear, size_t row, size_t endRow, size_t pair, Next next) {
  const size_t steps = linear.input.padded / 4;
  for (; row + R <= endRow; row += R, next.from += steps * next.step) {
    tile8<R, HasStep>(linear, row, pair, next);
  }
  // With one step for all, which few use, there are no tiles in between: so the library is smaller.
  if constexpr (R > 1) tiles8<HasStep ? 1 : R / 2, HasStep>(linear, row, endRow, pair, next);
}

void linear8(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  const size_t pairBytes = linear.input.padded * kPair, rows = endRow - firstRow;
  size_t tiles = rows / kRows8;
  for (size_t rest = rows % kRows8; rest > 0; rest &= rest - 1) tiles++;
  for (size_t pair = firstPair; pair < endPair; pair++) {
    // A single tile reads memory as fast as it gives: what it asks for is soon to come. Several compute
    // for longer than that takes: together they ask for the next pair, so that none of it has to wait.
    const uint8_t *weights = linear.weights + pair * pairBytes;
    const Next next = tiles == 1 ? Next{weights + linear.ahead, kStepBytes}
                                 : Next{weights + pairBytes, kStepBytes / tiles};
    if (tiles > 1 && linear.columns >= kManyColumns) askForOutputs(linear, firstRow, endRow, pair);
    if (linear.input.step != 0.0f) {
      const size_t row = multiplyStrips<8, kBlock, Scales::kStep>(linear, firstRow, endRow, pair);
      tiles8<kRows8, true>(linear, row, endRow, pair, next);
    } else {
      const size_t row = multiplyStrips<8, kBlock, Scales::kColumns>(linear, firstRow, endRow, pair);
      tiles8<kRows8, false>(linear, row, endRow, pair, next);
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
