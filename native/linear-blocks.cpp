// Products with weights that have a scale for each block of a column, and maybe an offset: 4-bit ones in
// blocks of 64 or 32, and 8-bit ones in blocks of 32 or 16. Activations have blocks of the same size.
//
// Within a block sums are integers. They become float32 in the order of the blocks, whatever rows are
// computed together.
#include "epilogue.h"
#include "lanes.h"
#include "strips-neon.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

constexpr int32_t kOffset4 = 8;

// Eight values of each of a pair's columns: the first four and the others, of each half of the pair.
template <size_t Bits>
struct Eight {
  Weights first[2], others[2];

  // @param step of a block that begins at `block`, and of which each half of 4-bit values has `halfBytes`
  // @param ahead how much further memory is asked for
  Eight(const uint8_t *block, size_t step, size_t halfBytes, size_t ahead) {
    for (size_t half = 0; half < 2; half++) {
      if constexpr (Bits == 4) {
        const uint8_t *from = block + half * halfBytes + step * 4 * kLanes;
        prefetch(from + ahead);
        const Weights both = loadHalves(from);
        first[half] = lowHalf(both);
        others[half] = highHalf(both);
      } else {
        const uint8_t *from = block + (4 * step + half) * 4 * kLanes;
        prefetch(from + ahead);
        prefetch(from + ahead + 4 * kPair);
        first[half] = loadWeights(from);
        others[half] = loadWeights(from + 4 * kPair);
      }
    }
  }
};

template <size_t R, size_t Bits, size_t Block>
static inline void tileOfBlocks(const Linear &linear, size_t row, size_t pair) {
  // A single row has too few sums to keep the multipliers busy: it has two of each.
  constexpr size_t kSums = R == 1 ? 2 : 1;
  constexpr size_t kHalfBytes = Block * kLanes * Bits / 8;
  constexpr int32_t kOffset = Bits == 4 ? kOffset4 : kOffset8;
  const Quantized &input = linear.input;
  const size_t blocks = input.blocks(), firstScale = input.scaleOf(row);
  const uint8_t *weights = linear.weights + pair * blocks * 2 * kHalfBytes;
  const uint16_t *scales = static_cast<const uint16_t *>(linear.scales) + pair * blocks * kPair;
  const uint16_t *offsets = linear.offsets ? linear.offsets + pair * blocks * kPair : nullptr;
  const int8_t *x = input.valuesOf(row);
  const float *ofRows = input.scales + firstScale;
  const int32_t *sumsOfRows = input.sums + firstScale;
  F16 totals[R][2];
  for (size_t r = 0; r < R; r++) totals[r][0] = totals[r][1] = zeros();
  for (size_t block = 0; block < blocks; block++, scales += kPair, weights += 2 * kHalfBytes) {
    I16 sums[R][2][kSums];
    for (size_t r = 0; r < R; r++) {
      const I16 start = splatInt(-kOffset * sumsOfRows[r]);
      for (size_t half = 0; half < 2; half++) {
        for (size_t s = 0; s < kSums; s++) sums[r][half][s] = s == 0 ? start : splatInt(0);
      }
    }
#pragma GCC unroll kUnroll
    for (size_t step = 0; step < Block / 8; step++, x += 2 * Quantized::kStep) {
      const Eight<Bits> w(weights, step, kHalfBytes, linear.ahead);
#pragma GCC unroll 8
      for (size_t r = 0; r < R; r++) {
        const Four even = four(x + 4 * r), odd = four(x + Quantized::kStep + 4 * r);
        for (size_t half = 0; half < 2; half++) {
          I16 &sum = sums[r][half][0], &other = sums[r][half][kSums - 1];
          if constexpr (Bits == 4) {
            sum = dot4(sum, w.first[half], even);
            other = dot4(other, w.others[half], odd);
          } else {
            sum = dot8(sum, w.first[half], even);
            other = dot8(other, w.others[half], odd);
          }
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
    if (offsets) {
      for (size_t half = 0; half < 2; half++, offsets += kLanes) {
        const F16 ofColumns = loadHalf(offsets);
        for (size_t r = 0; r < R; r++) {
          const F16 sum = splat(ofRows[r] * float(sumsOfRows[r]));
          totals[r][half] = fma(ofColumns, sum, totals[r][half]);
        }
      }
    }
    ofRows += kRowGroup;
    sumsOfRows += kRowGroup;
  }
  // A copy: sums whose address is taken would not stay in registers.
  F16 products[R][2];
  for (size_t r = 0; r < R; r++) {
    for (size_t half = 0; half < 2; half++) products[r][half] = totals[r][half];
  }
  finishTile(linear, row, R, pair, products);
}

template <size_t R, size_t Bits, size_t Block>
static inline void tilesOfBlocks(const Linear &linear, size_t row, size_t endRow, size_t pair) {
  for (; row + R <= endRow; row += R) tileOfBlocks<R, Bits, Block>(linear, row, pair);
  // Without some of the tiles in between, the library is smaller.
  constexpr size_t kLess = Block == kSmallestBlock || (R == 4 && Block == kSmallBlock) ? 1 : R / 2;
  if constexpr (R > 1) tilesOfBlocks<kLess, Bits, Block>(linear, row, endRow, pair);
}

template <size_t Bits, size_t Block>
static void linearOfBlocks(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair,
                           size_t endPair) {
  constexpr size_t kRows = Bits == 4 ? kRows4 : kRows8;
  for (size_t pair = firstPair; pair < endPair; pair++) {
    const size_t row = multiplyStrips<Bits, Block, Scales::kBlocks>(linear, firstRow, endRow, pair);
    tilesOfBlocks<kRows, Bits, Block>(linear, row, endRow, pair);
  }
}

void linearBlocks8(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  if (linear.input.block == kSmallBlock) {
    linearOfBlocks<8, kSmallBlock>(linear, firstRow, endRow, firstPair, endPair);
  } else {
    linearOfBlocks<8, kSmallestBlock>(linear, firstRow, endRow, firstPair, endPair);
  }
}

void linear4(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  if (linear.input.block == kBlock) {
    linearOfBlocks<4, kBlock>(linear, firstRow, endRow, firstPair, endPair);
  } else {
    linearOfBlocks<4, kSmallBlock>(linear, firstRow, endRow, firstPair, endPair);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
