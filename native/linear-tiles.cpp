// Products of many rows in tiles (tiles.h), of the kinds that linear8.cpp and linear-blocks.cpp compute in vectors,
// with the same bits.
//
// A tile is as deep as a block: a product of two tiles gives a block's sums. They become float32 while the next ones
// are computed. Weights become bytes with a sign, some features of a pair at a time for all rows.
#include "epilogue.h"
#include "tiles.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Features whose weights become bytes with a sign together, and rows that are multiplied with them: these tiles, and
// sums, stay in the nearest cache.
constexpr size_t kTogether = 256;
constexpr size_t kRowsTogether = 128;
// Products that are computed before the sums of the first one are read, and those whose sums are in registers.
constexpr size_t kLead = 6;
constexpr size_t kTurns = 2;
constexpr size_t kInFlight = 8;
static_assert(kLead > kTurns && kInFlight > kLead);

// Makes bytes with a sign of a block's weights: a tile of each half of the pair.
template <size_t Bits, size_t Block>
static inline void unpackBlock(const uint8_t *__restrict from, int8_t *__restrict first, int8_t *__restrict second) {
  constexpr size_t kStep = 4 * kLanes;
  if constexpr (Bits == 8) {
#pragma GCC unroll 2
    for (size_t at = 0; at < Block * kLanes; at += kStep, from += 2 * kStep) {
      for (size_t i = 0; i < kStep; i++) {
        first[at + i] = int8_t(from[i] ^ 0x80);
        second[at + i] = int8_t(from[kStep + i] ^ 0x80);
      }
    }
  } else {
    for (size_t half = 0; half < 2; half++) {
      int8_t *to = half == 0 ? first : second;
#pragma GCC unroll 2
      for (size_t at = 0; at < Block * kLanes; at += 2 * kStep, from += kStep) {
        for (size_t i = 0; i < kStep; i++) {
          to[at + i] = int8_t(int(from[i] & 15) - 8);
          to[at + kStep + i] = int8_t(int(from[i] >> 4) - 8);
        }
      }
    }
  }
}

// Some rows, up to kRowsTogether, with a pair of columns.
template <size_t Bits, size_t Block, bool HasBlocks>
class PairProduct {
 public:
  PairProduct(Tiles &tiles, const Linear &linear, size_t firstRow, size_t endRow, size_t pair)
      : tiles(tiles), linear(linear), input(linear.input), firstRow(firstRow), endRow(endRow), pair(pair),
        groups(divideUp(endRow - firstRow, kTileRows)), blocks(input.blocks()), firstScale(pair * blocks * kPair) {}

  void compute() {
    constexpr size_t kBytes = Block * kPair * Bits / 8;
    const uint8_t *weights = linear.weights + pair * blocks * kBytes;
    askForOutputs(linear, firstRow, endRow, pair);
    for (size_t half = 0; half < 2; half++) {
      for (size_t r = 0; r < groups * kTileRows; r++) totals[half][r] = zeros();
    }
    for (size_t first = 0; first < blocks; first += kTogether / Block) {
      const size_t left = blocks - first, count = left < kTogether / Block ? left : kTogether / Block;
      for (size_t block = 0; block < count; block++) {
        const size_t at = block * Block * kLanes;
        unpackBlock<Bits, Block>(weights + (first + block) * kBytes, columns[0] + at, columns[1] + at);
      }
      multiply(first, count, weights + (first + count) * kBytes, kBytes);
    }
    finish();
  }

 private:
  Tiles &tiles;
  const Linear &linear;
  const Quantized &input;
  const size_t firstRow, endRow, pair, groups, blocks, firstScale;
  alignas(64) int8_t columns[2][kTogether * kLanes];  // by half of the pair, its blocks' tiles
  alignas(64) int32_t sums[kInFlight][kTileRows * kLanes];
  alignas(64) F16 totals[2][kRowsTogether];

  // Sums of the product before in these registers go to `before`: what comes next need not wait for its own.
  template <int Turn>
  inline void product(const int8_t *rows, const int8_t *ofColumns, int32_t *before) {
    constexpr int kSum = kSums + Turn, kRow = kRowTiles + Turn, kColumn = kColumnTiles + Turn;
    tiles.store<kSum>(before);
    tiles.clear<kSum>();
    tiles.load<kRow>(rows, kTileDepth);
    tiles.load<kColumn>(ofColumns, 4 * kLanes);
    tiles.multiply<kSum, kRow, kColumn, Signs::kBoth>();
  }

  // Adds the products of some blocks: sixteen rows at a time, of each half of the columns. They are computed in that
  // order, kLead before their sums are added. Meanwhile memory is asked for the weights that are next, which are in the
  // second level when they become bytes with a sign.
  inline void multiply(size_t first, size_t count, const uint8_t *next, size_t blockBytes) {
    constexpr size_t kEach = kTileDepth / Block;
    const size_t all = 2 * groups * count, each = count * blockBytes / all;
    const int8_t *rows = input.tiledOf(firstRow, first * Block), *from = rows, *ofColumns = columns[0];
    size_t started = 0, half = 0, left = count;
    const auto start = [&] {
      int32_t *before = sums[(started - kTurns) % kInFlight];
      if (started % kTurns == 0) product<0>(from, ofColumns, before);
      else product<1>(from, ofColumns, before);
      started++;
      for (const uint8_t *end = next + each; next < end; next += 64) prefetchFar(next);
      from += kEach == 1 ? kWholeTile : started % 2 == 1 ? Block : kWholeTile - Block;
      ofColumns += Block * kLanes;
      if (--left > 0) return;
      left = count;
      half = 1 - half;
      if (half == 0) rows += kTileRows * input.padded;
      from = rows;
      ofColumns = columns[half];
    };
    while (started < kLead && started < all) start();
    for (size_t done = 0; done < all;) {
      const size_t ofGroup = done / count / 2 * kTileRows, ofHalf = done / count % 2;
      F16(&kept)[kRowsTogether] = totals[ofHalf];
      F16 own[kTileRows];
#pragma GCC unroll 16
      for (size_t r = 0; r < kTileRows; r++) own[r] = kept[ofGroup + r];
      for (size_t i = 0; i < count; i++, done++) {
        if (started < all) {
          start();
        } else if (started == all) {
          tiles.store<kSums>(sums[(all - 2) % kInFlight]);
          tiles.store<kSums + 1>(sums[(all - 1) % kInFlight]);
          started++;
        }
        addSums(own, sums[done % kInFlight], firstRow + ofGroup, first + i, ofHalf);
      }
#pragma GCC unroll 16
      for (size_t r = 0; r < kTileRows; r++) kept[ofGroup + r] = own[r];
    }
  }

  // Adds a block's sums of sixteen rows and half of the columns.
  inline void addSums(F16 (&own)[kTileRows], const int32_t *of, size_t row, size_t block, size_t half) {
    const size_t place = input.scaleOf(row) + block * kRowGroup, others = blocks * kRowGroup;
    const size_t column = firstScale + block * kPair + half * kLanes;
    const float *scales[2] = {input.scales + place, input.scales + place + others};
    F16 ofColumns;
    if constexpr (HasBlocks) ofColumns = loadHalf(static_cast<const uint16_t *>(linear.scales) + column);
#pragma GCC unroll 16
    for (size_t r = 0; r < kTileRows; r++) {
      F16 scale = splat(scales[r / kRowGroup][r % kRowGroup]);
      if constexpr (HasBlocks) scale = mul(ofColumns, scale);
      own[r] = fma(toFloat(loadInt(of + r * kLanes)), scale, own[r]);
    }
    if (!HasBlocks || !linear.offsets) return;
    const int32_t *sumsOf[2] = {input.sums + place, input.sums + place + others};
    ofColumns = loadHalf(linear.offsets + column);
#pragma GCC unroll 16
    for (size_t r = 0; r < kTileRows; r++) {
      const size_t part = r / kRowGroup, at = r % kRowGroup;
      own[r] = fma(ofColumns, splat(scales[part][at] * float(sumsOf[part][at])), own[r]);
    }
  }

  void finish() {
    for (size_t row = firstRow; row < endRow; row += kRowGroup) {
      const size_t count = endRow - row < kRowGroup ? endRow - row : kRowGroup;
      F16 products[kRowGroup][2];
      for (size_t half = 0; half < 2; half++) {
        F16 factor = splat(1.0f);
        if (!HasBlocks) factor = load(static_cast<const float *>(linear.scales) + pair * kPair + half * kLanes);
        for (size_t r = 0; r < count; r++) {
          const F16 total = totals[half][row - firstRow + r];
          products[r][half] = HasBlocks ? total : mul(total, factor);
        }
      }
      finishTile(linear, row, count, pair, products);
    }
  }
};

template <size_t Bits, size_t Block, bool HasBlocks>
static void multiplyPairs(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  Tiles tiles(Block);
  for (size_t pair = firstPair; pair < endPair; pair++) {
    for (size_t row = firstRow; row < endRow; row += kRowsTogether) {
      const size_t end = endRow - row < kRowsTogether ? endRow : row + kRowsTogether;
      PairProduct<Bits, Block, HasBlocks>(tiles, linear, row, end, pair).compute();
    }
  }
}

void linear8(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  if (!linear.input.isTiled) return CHAIRLIFT_OTHERS::linear8(linear, firstRow, endRow, firstPair, endPair);
  multiplyPairs<8, kBlock, false>(linear, firstRow, endRow, firstPair, endPair);
}

void linearBlocks8(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  if (!linear.input.isTiled) return CHAIRLIFT_OTHERS::linearBlocks8(linear, firstRow, endRow, firstPair, endPair);
  multiplyPairs<8, kSmallBlock, true>(linear, firstRow, endRow, firstPair, endPair);
}

void linear4(const Linear &linear, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair) {
  if (!linear.input.isTiled) return CHAIRLIFT_OTHERS::linear4(linear, firstRow, endRow, firstPair, endPair);
  if (linear.input.block == kBlock) {
    multiplyPairs<4, kBlock, true>(linear, firstRow, endRow, firstPair, endPair);
  } else {
    multiplyPairs<4, kSmallBlock, true>(linear, firstRow, endRow, firstPair, endPair);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
