// Attention to a block of positions in int8, in integers: queries and weights have 16 bits, so scores and
// weighted values are sums of products of 16 bits and 8, two at a time, and exact in whatever order. A scale for
// all of a query, or of its weights of the block, comes afterwards.
#pragma once

#include "attention-block.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Largest of 16 bits: a sum of kMaxHeadDim products with a byte fits into 32.
constexpr float kLargestShort = 32767.0f;
static_assert(kMaxHeadDim * 32767 * 128 < (uint64_t(1) << 31) && kContextBlock <= kMaxHeadDim);

// Pairs of keys, or of values, as the cache has them: `first` is where a vector begins, and those after it follow at
// a stride. What lies `ahead` is asked for meanwhile, in the order in which it lies there.
struct CachedPairs {
  size_t stride;  // between vectors
  size_t apart;   // between the two rows of a pair
  size_t ahead;
  size_t last = kTiles - 1;  // of the vectors that are there; it stands for those that are not

  Pairs at(const uint8_t *first, size_t v) const { return bytesAsPairs(first + (v < last ? v : last) * stride, apart); }
  void ask(const uint8_t *next, size_t bytes) const {
    for (size_t i = 0; i < bytes && ahead > 0; i += 64) prefetch(next + ahead + i);
  }
  CachedPairs upTo(size_t count) const { return {stride, apart, ahead, count - 1}; }
};

// Pairs that are widened already, kTiles vectors side by side. There is memory after the last one, whatever it holds.
struct WidenedPairs {
  Pairs at(const int16_t *first, size_t v) const { return loadPairs(first + v * kPair); }
  void ask(const int16_t *, size_t) const {}
  WidenedPairs upTo(size_t) const { return *this; }
};

// Queries of a block for which it is worth while to widen its bytes first.
constexpr size_t kManyQueries = kPairQueries > 1 ? 3 : 2;

// A task's query as 16-bit integers, [head_width]. Returns its scale.
static inline float toShorts(const Attention &a, const AttentionTask &task, size_t query, int16_t *to) {
  const size_t width = a.headWidth();
  const float *from = a.queries + placeOf(a, task, query) * a.headDim;
  I16 most = splatInt(0);
  for (size_t d = 0; d < width; d += kLanes) most = largerMagnitude(most, loadSome(from + d, a.headDim - d));
  const IntegerScale of = integerScale(most, kLargestShort);
  for (size_t d = 0; d < width; d += kLanes) {
    storeShorts(to + d, toIntegers(loadSome(from + d, a.headDim - d), splat(of.inverse), kLargestShort));
  }
  return of.scale;
}

// A query's weights of a block, with the scales of values, as 16-bit integers: zeros where it does not see. Returns
// their scale.
__attribute__((noinline)) static float weighValues(const Attention &a, const Block &block, size_t i, int16_t *to) {
  const Query &query = block.queries[i];
  float *weighted = block.scores + i * kContextBlock;
  memset(to, 0, kContextBlock * sizeof *to);
  const size_t start = query.first / kLanes * kLanes;
  I16 most = splatInt(0);
  // Zeros, but where a scale is not a number: then the result is none either.
  F16 none = zeros();
  for (size_t at = start; at < query.end; at += kLanes) {
    const F16 scale = load(scalesOf(a, block.values + at / kTile * tileBytes(a)));
    const size_t before = query.first > at ? query.first - at : 0;
    const F16 weight = within(mul(load(weighted + at), scale), before, query.end - at, zeros());
    store(weighted + at, weight);
    most = largerMagnitude(most, weight);
    none = add(none, sub(weight, weight));
  }
  const IntegerScale of = integerScale(most, kLargestShort);
  for (size_t at = start; at < query.end; at += kLanes) {
    storeShorts(to + at, toIntegers(load(weighted + at), splat(of.inverse), kLargestShort));
  }
  return of.scale + sum(none);
}

// Computes a block with a task's queries as `State` has them.
template <class State>
static void computeIntegers(const Attention &a, const Block &block, Query *queries, void *state) {
  State *integers = static_cast<State *>(state);
  integers->scoreBlock(a, block);
  weighAll(a, block, queries);
  integers->addBlock(a, block);
}

class Integers {
 public:
  Integers(const Attention &a, const AttentionTask &task) {
    for (size_t i = 0; i < task.numTokens * a.queriesPerHead(); i++) {
      scales[i] = toShorts(a, task, i, queries + i * a.headWidth());
    }
  }

  void scoreBlock(const Attention &a, const Block &block) {
    const size_t stride = tileBytes(a), perTile = a.headDim / 2;
    const CachedPairs cached{stride, kTile, block.ahead};
    if (block.count < kManyQueries) {
      const auto of = [&](size_t tile) { return block.keys + tile * stride; };
      return scoreTiles<kManyQueries - 1>(a, block, cached, of, kPair);
    }
    const auto widened = [&](size_t tile) {
      return pairs + (tile / kTiles * perTile * kTiles + tile % kTiles) * kPair;
    };
    for (size_t tile = 0; tile < block.numTiles; tile++) {
      for (size_t i = 0; i < perTile; i++) {
        const uint8_t *keys = block.keys + tile * stride + i * kPair;
        if (i % 2 == 0) cached.ask(keys, 2 * kPair);
        storePairs(widened(tile) + i * kTiles * kPair, cached.at(keys, 0));
      }
    }
    scoreTiles<kPairQueries>(a, block, WidenedPairs{}, widened, kTiles * kPair);
  }

  // Adds up weighted values.
  void addBlock(const Attention &a, const Block &block) {
    const size_t stride = tileBytes(a), width = a.headWidth();
    for (size_t i = 0; i < block.count; i++) factors[i] = weighValues(a, block, i, weights + i * kContextBlock);
    const CachedPairs cached{kLanes, width, block.ahead};
    const auto at = [&](size_t position) {
      return block.values + position / kTile * stride + position % kTile * width;
    };
    if (block.count < kManyQueries) return addAll<kManyQueries - 1>(a, block, 0, cached, at, 1);
    for (size_t position = 0; position < block.numTiles * kTile; position += 2) {
      const uint8_t *values = at(position);
      cached.ask(values, 2 * width);
      for (size_t d = 0; d < width; d += kLanes) {
        storePairs(pairs + position * width + 2 * d, cached.at(values + d, 0));
      }
    }
    addAll<kPairQueries>(a, block, 0, WidenedPairs{}, [&](size_t position) { return pairs + position * width; }, 2);
  }

 private:
  alignas(64) int16_t queries[kMaxQueries * kMaxHeadDim];  // [queries][head_width]
  alignas(64) int16_t weights[kMaxQueries * kContextBlock];
  alignas(64) int16_t pairs[kContextBlock * kMaxHeadDim];  // of keys or values
  float scales[kMaxQueries], factors[kMaxQueries];

  // A few tiles at a time, which stay in the nearest cache for all queries.
  // @param of where a tile's first pair is; those that come next follow after `step`
  template <size_t Q, class Source, class Of>
  inline void scoreTiles(const Attention &a, const Block &block, Source source, Of of, size_t step) {
    // Nearly always all: those of a task that see nothing of a block come before or after the others.
    for (size_t first = 0, end; first < block.count; first = end) {
      for (end = first + 1; end < block.count; end++) {
        if (block.queries[end].index != block.queries[end - 1].index + 1) break;
      }
      for (size_t tile = 0; tile < block.numTiles; tile += kTiles) {
        const size_t count = block.numTiles - tile < kTiles ? block.numTiles - tile : kTiles;
        scoreAll<Q>(a, block, first, end, tile, count, source.upTo(count), of(tile), step);
      }
    }
  }

  // Q queries, neighbours in the task, from `first` on, then those that are left, fewer at a time.
  template <size_t Q, class Source, class Element>
  inline void scoreAll(const Attention &a, const Block &block, size_t first, size_t end, size_t tile, size_t count,
                       Source source, const Element *keys, size_t step) {
    for (; first + Q <= end; first += Q) scoreSome<Q>(a, block, first, tile, count, source, keys, step);
    if constexpr (Q > 1) scoreAll<Q / 2>(a, block, first, end, tile, count, source, keys, step);
  }

  // Scores of Q queries with the positions of `count` tiles.
  template <size_t Q, class Source, class Element>
  inline void scoreSome(const Attention &a, const Block &block, size_t first, size_t tile, size_t count,
                        Source source, const Element *keys, size_t step) {
    const size_t width = a.headWidth(), index = block.queries[first].index;
    const int16_t *of = queries + index * width;
    I16 sums[Q][kTiles];
    for (size_t q = 0; q < Q; q++) {
      for (size_t v = 0; v < kTiles; v++) sums[q][v] = splatInt(0);
    }
    const Element *next = keys;
    for (size_t dimension = 0; dimension < a.headDim; dimension += 2, keys += step) {
      Pairs key[kTiles];
      for (size_t v = 0; v < kTiles; v++) key[v] = source.at(keys, v);
      source.ask(next, kTiles * kPair);
      next += kTiles * kPair;
      for (size_t q = 0; q < Q; q++) {
        const Both query = both(of + q * width + dimension);
        for (size_t v = 0; v < kTiles; v++) sums[q][v] = dotPairs(sums[q][v], key[v], query);
      }
    }
    for (size_t v = 0; v < kTiles && v < count; v++) {
      const F16 scale = load(scalesOf(a, block.keys + (tile + v) * tileBytes(a)));
      for (size_t q = 0; q < Q; q++) {
        const F16 score = mul(mul(toFloat(sums[q][v]), splat(scales[index + q])), scale);
        store(block.scores + (first + q) * kContextBlock + (tile + v) * kTile, score);
      }
    }
  }

  // Weighted values of Q queries from `first` on, then of those that are left, fewer at a time.
  // @param of where a pair of positions is, whose next dimension comes after `step`
  template <size_t Q, class Source, class Of>
  inline void addAll(const Attention &a, const Block &block, size_t first, Source source, Of of, size_t step) {
    for (; first + Q <= block.count; first += Q) {
      size_t begin = kContextBlock, end = 0;
      for (size_t q = 0; q < Q; q++) {
        const Query &query = block.queries[first + q];
        begin = query.first < begin ? query.first : begin;
        end = query.end > end ? query.end : end;
      }
      for (size_t dimension = 0; dimension < a.headWidth(); dimension += kTiles * kLanes) {
        const size_t left = (a.headWidth() - dimension) / kLanes, count = left < kTiles ? left : kTiles;
        const auto from = [&](size_t position) { return of(position) + dimension * step; };
        addSome<Q>(a, block, first, dimension, count, begin / 2 * 2, end, source.upTo(count), from);
      }
    }
    if constexpr (Q > 1) addAll<Q / 2>(a, block, first, source, of, step);
  }

  // `count` vectors of the values of positions [begin, end), weighted, of Q queries.
  template <size_t Q, class Source, class From>
  inline void addSome(const Attention &a, const Block &block, size_t first, size_t dimension, size_t count,
                      size_t begin, size_t end, Source source, From from) {
    I16 sums[Q][kTiles];
    for (size_t q = 0; q < Q; q++) {
      for (size_t v = 0; v < kTiles; v++) sums[q][v] = splatInt(0);
    }
    const int16_t *weight = weights + first * kContextBlock;
    for (size_t position = begin; position < end; position += 2) {
      const auto *values = from(position);
      Pairs value[kTiles];
      for (size_t v = 0; v < kTiles; v++) value[v] = source.at(values, v);
      source.ask(values, kTiles * kLanes);
      source.ask(values + a.headWidth(), kTiles * kLanes);
      for (size_t q = 0; q < Q; q++) {
        const Both factor = both(weight + q * kContextBlock + position);
        for (size_t v = 0; v < kTiles; v++) sums[q][v] = dotPairs(sums[q][v], value[v], factor);
      }
    }
    for (size_t q = 0; q < Q; q++) {
      float *result = block.results + (first + q) * a.headWidth() + dimension;
      for (size_t v = 0; v < kTiles && v < count; v++) {
        store(result + v * kLanes, mul(toFloat(sums[q][v]), splat(factors[first + q])));
      }
    }
  }
};

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
