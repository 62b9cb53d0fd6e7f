// Attention of many queries to an int8 cache in tiles (tiles.h), with the bits of integer-attention.h.
//
// Tiles have products of bytes, queries and weights 16 bits: these are 256 times a byte with a sign plus one without,
// and so are the sums of their products.
#include "integer-attention.h"
#include "tiles.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Queries of a task that are worth tiles.
constexpr size_t kQueriesForTiles = kTileRows;

// Four rows of sixteen bytes, column by column.
static inline void interleave(const int8_t *from, size_t stride, int8_t *to) {
#if defined(__AVX512VBMI__)
  alignas(64) static constexpr uint8_t kOrder[64] = {
      0, 16, 32, 48, 1, 17, 33, 49, 2, 18, 34, 50, 3, 19, 35, 51,
      4, 20, 36, 52, 5, 21, 37, 53, 6, 22, 38, 54, 7, 23, 39, 55,
      8, 24, 40, 56, 9, 25, 41, 57, 10, 26, 42, 58, 11, 27, 43, 59,
      12, 28, 44, 60, 13, 29, 45, 61, 14, 30, 46, 62, 15, 31, 47, 63,
  };
  const auto row = [&](size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i * stride)); };
  __m512i all = _mm512_castsi128_si512(row(0));
  all = _mm512_inserti32x4(all, row(1), 1);
  all = _mm512_inserti32x4(all, row(2), 2);
  all = _mm512_inserti32x4(all, row(3), 3);
  _mm512_store_si512(to, _mm512_permutexvar_epi8(_mm512_load_si512(kOrder), all));
#else
  for (size_t i = 0; i < 4 * kLanes; i++) to[i] = from[i % 4 * stride + i / 4];
#endif
}

// 16-bit integers as 256 * high + low.
static inline void split(const int16_t *from, size_t count, int8_t *high, int8_t *low) {
  for (size_t i = 0; i < count; i++) {
    high[i] = int8_t(from[i] >> 8);
    low[i] = int8_t(from[i]);
  }
}

class TiledIntegers {
 public:
  TiledIntegers(const Attention &a, const AttentionTask &task)
      : tiles(kTileDepth), steps(divideUp(a.headWidth(), kTileDepth)) {
    // Zeros in dimensions that fill up the last tile, so that it does not matter what keys have there.
    int16_t shorts[kMaxHeadDim] = {};
    for (size_t i = 0; i < task.numTokens * a.queriesPerHead(); i++) {
      scales[i] = toShorts(a, task, i, shorts);
      for (size_t step = 0; step < steps; step++) {
        const size_t at = ((i / kTileRows * steps + step) * kTileRows + i % kTileRows) * kTileDepth;
        split(shorts + step * kTileDepth, kTileDepth, queries[0] + at, queries[1] + at);
      }
    }
  }

  void scoreBlock(const Attention &a, const Block &block) {
    const size_t stride = tileBytes(a), width = a.headWidth(), tileOfColumns = steps * kWholeTile;
    for (size_t tile = 0; tile < block.numTiles; tile++) {
      const int8_t *keys = reinterpret_cast<const int8_t *>(block.keys + tile * stride);
      int8_t *to = columns + tile * tileOfColumns;
      for (size_t d = 0; d < width; d += 4) interleave(keys + d * kTile, kTile, to + d * kTile);
    }
    for (size_t first = 0, end; first < block.count; first = end) {
      const size_t group = block.queries[first].index / kTileRows;
      for (end = first + 1; end < block.count && block.queries[end].index / kTileRows == group;) end++;
      const auto take = [&](size_t tile, Sums sums) {
        const F16 scale = load(scalesOf(a, block.keys + tile * stride));
        for (size_t i = first; i < end; i++) {
          const size_t index = block.queries[i].index;
          const F16 score = mul(mul(toFloat(sums.of(index % kTileRows)), splat(scales[index])), scale);
          store(block.scores + i * kContextBlock + tile * kTile, score);
        }
      };
      multiply(queries, group * tileOfColumns, columns, tileOfColumns, block.numTiles, steps, take);
    }
  }

  // Adds up weighted values.
  void addBlock(const Attention &a, const Block &block) {
    constexpr size_t kSteps = kContextBlock / kTileDepth;
    const size_t stride = tileBytes(a), width = a.headWidth(), seen = divideUp(block.numTiles * kTile, kTileDepth);
    float factors[kMaxQueries];
    for (size_t i = 0; i < block.count; i++) {
      int16_t shorts[kContextBlock];
      factors[i] = weighValues(a, block, i, shorts);
      for (size_t step = 0; step < kSteps; step++) {
        const size_t at = ((i / kTileRows * kSteps + step) * kTileRows + i % kTileRows) * kTileDepth;
        split(shorts + step * kTileDepth, kTileDepth, weights[0] + at, weights[1] + at);
      }
    }
    for (size_t position = 0; position < block.numTiles * kTile; position += 4) {
      const uint8_t *values = block.values + position / kTile * stride + position % kTile * width;
      for (size_t d = 0; d < width; d += kLanes) {
        int8_t *to = columns + d / kLanes * kSteps * kWholeTile + position * kLanes;
        interleave(reinterpret_cast<const int8_t *>(values) + d, width, to);
      }
    }
    for (size_t first = 0; first < block.count; first += kTileRows) {
      const size_t count = block.count - first < kTileRows ? block.count - first : kTileRows;
      const size_t each = kSteps * kWholeTile;
      multiply(weights, first * kContextBlock, columns, each, width / kLanes, seen, [&](size_t tile, Sums sums) {
        float *results = block.results + first * width + tile * kLanes;
        for (size_t r = 0; r < count; r++) {
          store(results + r * width, mul(toFloat(sums.of(r)), splat(factors[first + r])));
        }
      });
    }
  }

 private:
  Tiles tiles;
  const size_t steps;  // tiles of a head's dimensions
  // High and low bytes, in tiles: of queries [groups][steps], of weights [groups][positions].
  alignas(64) int8_t queries[2][kMaxQueries * kMaxHeadDim];
  alignas(64) int8_t weights[2][kMaxQueries * kContextBlock];
  alignas(64) int8_t columns[kContextBlock * kMaxHeadDim];  // of keys or values
  alignas(64) int32_t sums[2][2][kTileRows * kLanes];
  float scales[kMaxQueries];

  // Sums of sixteen rows, of high and of low bytes.
  struct Sums {
    const int32_t *high, *low;

    I16 of(size_t row) const { return addInt(shiftLeft(loadInt(high + row * kLanes), 8), loadInt(low + row * kLanes)); }
  };

  // Products of sixteen rows, whose bytes are from `at` on, with `count` times sixteen columns, one ahead of what
  // `take` makes of them.
  template <size_t N, class Take>
  inline void multiply(const int8_t (&rows)[2][N], size_t at, const int8_t *of, size_t stride, size_t count,
                       size_t depth, Take take) {
    const int8_t *high = rows[0] + at, *low = rows[1] + at;
    for (size_t i = 0; i <= count; i++) {
      if (i < count && i % 2 == 0) multiplyOne<kSums>(high, low, of + i * stride, depth, sums[0]);
      if (i < count && i % 2 == 1) multiplyOne<kSums + 2>(high, low, of + i * stride, depth, sums[1]);
      if (i > 0) take(i - 1, Sums{sums[(i - 1) % 2][0], sums[(i - 1) % 2][1]});
    }
  }

  template <int High>
  inline void multiplyOne(const int8_t *high, const int8_t *low, const int8_t *of, size_t depth,
                          int32_t (&to)[2][kTileRows * kLanes]) {
    tiles.clear<High>();
    tiles.clear<High + 1>();
    for (size_t step = 0; step < depth; step++, high += kWholeTile, low += kWholeTile, of += kWholeTile) {
      tiles.load<kColumnTiles>(of, kTileDepth);
      tiles.load<kRowTiles>(high, kTileDepth);
      tiles.load<kRowTiles + 1>(low, kTileDepth);
      tiles.multiply<High, kRowTiles, kColumnTiles, Signs::kBoth>();
      tiles.multiply<High + 1, kRowTiles + 1, kColumnTiles, Signs::kColumns>();
    }
    tiles.store<High>(to[0]);
    tiles.store<High + 1>(to[1]);
  }
};

// Not inline: only that has tiles of integers on its stack.
__attribute__((noinline)) static void attendInTiles(const Attention &a, const AttentionTask &task) {
  TiledIntegers integers(a, task);
  attendBlocks(a, task, 0, computeIntegers<TiledIntegers>, &integers);
}

void attend(const Attention &a, const AttentionTask &task) {
  if (a.cacheType == CacheType::kInt8 && task.numTokens * a.queriesPerHead() >= kQueriesForTiles) {
    return attendInTiles(a, task);
  }
  CHAIRLIFT_OTHERS::attend(a, task);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
