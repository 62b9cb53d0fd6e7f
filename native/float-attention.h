// Attention to a block of positions whose keys and values are floats, each in the order of dimensions or positions.
#pragma once

#include "attention-block.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

template <CacheType T>
static inline size_t elementBytes() {
  return T == CacheType::kFloat32 ? sizeof(float) : sizeof(uint16_t);
}

template <CacheType T>
static inline F16 loadCached(const uint8_t *from) {
  if constexpr (T == CacheType::kFloat32) {
    return load(reinterpret_cast<const float *>(from));
  } else {
    return loadHalf(reinterpret_cast<const uint16_t *>(from));
  }
}

// Scores of Q queries with the positions of V tiles. What lies `ahead` is asked for meanwhile.
template <CacheType T, size_t Q, size_t V>
static inline void scoreTile(const Attention &a, const Query *queries, const uint8_t *tiles, size_t ahead,
                             float *scores) {
  const size_t stride = tileBytes(a), step = kTile * elementBytes<T>();
  F16 sums[Q][V];
  for (size_t q = 0; q < Q; q++) {
    for (size_t v = 0; v < V; v++) sums[q][v] = zeros();
  }
  const uint8_t *keys = tiles, *next = tiles + ahead;
  for (size_t dimension = 0; dimension < a.headDim; dimension++, keys += step) {
    F16 key[V];
    for (size_t v = 0; v < V; v++) {
      key[v] = loadCached<T>(keys + v * stride);
    }
    // In the order in which they lie there.
    for (size_t i = 0; i < V * step; i += 64) prefetch(next + i);
    next += V * step;
    for (size_t q = 0; q < Q; q++) {
      const F16 query = splat(queries[q].values[dimension]);
      for (size_t v = 0; v < V; v++) sums[q][v] = fma(query, key[v], sums[q][v]);
    }
  }
  for (size_t v = 0; v < V; v++) {
    for (size_t q = 0; q < Q; q++) store(scores + q * kContextBlock + v * kTile, sums[q][v]);
  }
}

// A few tiles at a time, which share what is read of queries; then those that are left.
template <CacheType T, size_t Q>
static inline void scoreRow(const Attention &a, const Query *queries, const uint8_t *tiles, size_t numTiles,
                            size_t ahead, float *scores) {
  size_t tile = 0;
  for (; tile + kTiles <= numTiles; tile += kTiles) {
    scoreTile<T, Q, kTiles>(a, queries, tiles + tile * tileBytes(a), ahead, scores + tile * kTile);
  }
  for (; tile < numTiles; tile++) {
    scoreTile<T, Q, 1>(a, queries, tiles + tile * tileBytes(a), ahead, scores + tile * kTile);
  }
}

// Queries that are left over are together, too.
template <CacheType T, size_t Q>
static inline void scoreAll(const Attention &a, const Query *queries, size_t count, const uint8_t *tiles,
                            size_t numTiles, size_t ahead, float *scores) {
  for (; count >= Q; count -= Q, queries += Q, scores += Q * kContextBlock) {
    scoreRow<T, Q>(a, queries, tiles, numTiles, ahead, scores);
  }
  if constexpr (Q > 1) scoreAll<T, Q / 2>(a, queries, count, tiles, numTiles, ahead, scores);
}

// Adds V vectors of the values of positions [first, end), weighted, to the results of Q queries.
template <CacheType T, size_t Q, size_t V>
static inline void addValues(const Attention &a, const uint8_t *tiles, size_t dimension, const float *weights,
                             size_t first, size_t end, size_t ahead, float *results) {
  const size_t stride = tileBytes(a);
  F16 sums[Q][V];
  for (size_t q = 0; q < Q; q++) {
    for (size_t v = 0; v < V; v++) sums[q][v] = load(results + q * a.headWidth() + dimension + v * kLanes);
  }
  for (size_t p = first; p < end; p++) {
    const uint8_t *tile = tiles + p / kTile * stride;
    const uint8_t *position = tile + (p % kTile * a.headWidth() + dimension) * elementBytes<T>();
    F16 value[V];
    for (size_t v = 0; v < V; v++) {
      value[v] = loadCached<T>(position + v * kLanes * elementBytes<T>());
    }
    for (size_t i = 0; i < V * kLanes * elementBytes<T>(); i += 64) prefetch(position + i + ahead);
    for (size_t q = 0; q < Q; q++) {
      const F16 factor = splat(weights[q * kContextBlock + p]);
      for (size_t v = 0; v < V; v++) sums[q][v] = fma(factor, value[v], sums[q][v]);
    }
  }
  for (size_t q = 0; q < Q; q++) {
    for (size_t v = 0; v < V; v++) store(results + q * a.headWidth() + dimension + v * kLanes, sums[q][v]);
  }
}

template <CacheType T, size_t Q>
static inline void addAll(const Attention &a, const uint8_t *tiles, const float *weights, size_t first,
                          size_t end, size_t ahead, float *results) {
  if (first >= end) return;
  size_t dimension = 0;
  for (; dimension + 4 * kLanes <= a.headWidth(); dimension += 4 * kLanes) {
    addValues<T, Q, 4>(a, tiles, dimension, weights, first, end, ahead, results);
  }
  for (; dimension < a.headWidth(); dimension += kLanes) {
    addValues<T, Q, 1>(a, tiles, dimension, weights, first, end, ahead, results);
  }
}

// Values of one query. Not inline: copies of it would make the library larger.
template <CacheType T>
__attribute__((noinline)) static void addOne(const Attention &a, const uint8_t *tiles, const float *weights,
                                             size_t first, size_t end, size_t ahead, float *results) {
  addAll<T, 1>(a, tiles, weights, first, end, ahead, results);
}

// The weighted values of a block, of Q queries. Queries see different positions: those that all see are
// computed together, the others in turn, so that what one does not see can't reach it, not even a value
// that is not a number.
template <CacheType T, size_t Q>
static inline void valueRow(const Attention &a, const uint8_t *tiles, const Query *queries,
                            const float *weights, size_t ahead, float *results) {
  const size_t width = a.headWidth();
  size_t first = queries[0].first, end = queries[0].end;
  for (size_t q = 1; q < Q; q++) {
    first = queries[q].first > first ? queries[q].first : first;
    end = queries[q].end < end ? queries[q].end : end;
  }
  if (end < first) end = first;
  memset(results, 0, Q * width * sizeof(float));
  for (size_t q = 0; q < Q && Q > 1; q++) {
    const size_t before = queries[q].end < first ? queries[q].end : first;
    addOne<T>(a, tiles, weights + q * kContextBlock, queries[q].first, before, 0, results + q * width);
  }
  if constexpr (Q > 1) {
    addAll<T, Q>(a, tiles, weights, first, end, ahead, results);
  } else {
    addOne<T>(a, tiles, weights, first, end, ahead, results);
  }
  for (size_t q = 0; q < Q && Q > 1; q++) {
    addOne<T>(a, tiles, weights + q * kContextBlock, end, queries[q].end, 0, results + q * width);
  }
}

template <CacheType T, size_t Q>
static inline void valueAll(const Attention &a, const uint8_t *values, const Query *queries, size_t count,
                            const float *weights, size_t ahead, float *results) {
  for (; count >= Q; count -= Q, queries += Q, weights += Q * kContextBlock, results += Q * a.headWidth()) {
    valueRow<T, Q>(a, values, queries, weights, ahead, results);
  }
  if constexpr (Q > 1) valueAll<T, Q / 2>(a, values, queries, count, weights, ahead, results);
}

template <CacheType T>
static inline void scoreFloats(const Attention &a, const Block &block) {
  scoreAll<T, kQueries>(a, block.queries, block.count, block.keys, block.numTiles, block.ahead, block.scores);
}

template <CacheType T>
static inline void addFloats(const Attention &a, const Block &block) {
  valueAll<T, kQueries>(a, block.values, block.queries, block.count, block.scores, block.ahead, block.results);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
