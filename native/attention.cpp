// Causal attention over a KV cache.
//
// A task has some queries of one head of the cache. For each block of kContextBlock positions it computes
// scores, each in the order of dimensions; weights values in the order of positions; and merges the
// block's result with those of the blocks before. All of that is the same for a token that is decoded and
// for one of a prompt.
#include "cache.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

constexpr float kLowest = -3.0e38f;
// Tiles whose scores are computed together.
constexpr size_t kTiles = 4;

// A query, the positions that it sees of the block at hand, and what it has seen so far.
struct Query {
  const float *values;
  float *total;  // [head_width] weighted values
  size_t first, end;
  float most, weight;
};

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
    const F16 scale = T == CacheType::kInt8 ? load(scalesOf(a, tiles + v * stride)) : zeros();
    for (size_t q = 0; q < Q; q++) {
      const F16 score = T == CacheType::kInt8 ? mul(sums[q][v], scale) : sums[q][v];
      store(scores + q * kContextBlock + v * kTile, score);
    }
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
  for (; Q > 1 && Q == kQueries && tile + kTiles / 2 <= numTiles; tile += kTiles / 2) {
    scoreTile<T, Q, kTiles / 2>(a, queries, tiles + tile * tileBytes(a), ahead, scores + tile * kTile);
  }
  for (; tile < numTiles; tile++) {
    scoreTile<T, Q, 1>(a, queries, tiles + tile * tileBytes(a), ahead, scores + tile * kTile);
  }
}

// Queries that are left over are together, too: there are three where three heads share one of the cache.
template <CacheType T, size_t Q>
static inline void scoreAll(const Attention &a, const Query *queries, size_t count, const uint8_t *tiles,
                            size_t numTiles, size_t ahead, float *scores) {
  for (; count >= Q; count -= Q, queries += Q, scores += Q * kContextBlock) {
    scoreRow<T, Q>(a, queries, tiles, numTiles, ahead, scores);
  }
  if constexpr (Q > 1) scoreAll<T, Q - 1>(a, queries, count, tiles, numTiles, ahead, scores);
}

// Turns a block's scores into weights. Returns their sum, and the largest score.
static inline float weigh(const Attention &a, float *scores, size_t first, size_t end, float *most) {
  const size_t start = first / kLanes * kLanes;
  // Most vectors have no other positions.
  const auto seen = [&](size_t at, F16 x, float otherwise) {
    if (first <= at && at + kLanes <= end) return x;
    return within(x, first > at ? first - at : 0, end - at, splat(otherwise));
  };
  if (a.softcap > 0) {
    const F16 cap = splat(a.softcap);
    for (size_t at = start; at < end; at += kLanes) {
      store(scores + at, mul(cap, hyperbolicTangent(divide(load(scores + at), cap))));
    }
  }
  F16 top = splat(kLowest);
  for (size_t at = start; at < end; at += kLanes) top = larger(seen(at, load(scores + at), kLowest), top);
  *most = largest(top);
  const F16 subtrahend = splat(*most);
  F16 total = zeros();
  for (size_t at = start; at < end; at += kLanes) {
    const F16 weight = seen(at, exponential(sub(load(scores + at), subtrahend)), 0.0f);
    store(scores + at, weight);
    total = add(total, weight);
  }
  return sum(total);
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
    const float scale = T == CacheType::kInt8 ? scalesOf(a, tile)[p % kTile] : 1.0f;
    F16 value[V];
    for (size_t v = 0; v < V; v++) {
      value[v] = loadCached<T>(position + v * kLanes * elementBytes<T>());
    }
    for (size_t i = 0; i < V * kLanes * elementBytes<T>(); i += 64) prefetch(position + i + ahead);
    for (size_t q = 0; q < Q; q++) {
      const float weight = weights[q * kContextBlock + p];
      const F16 factor = splat(T == CacheType::kInt8 ? weight * scale : weight);
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
  if constexpr (Q > 1) valueAll<T, Q - 1>(a, values, queries, count, weights, ahead, results);
}

// Takes a block's result, relative to its own largest score, into what a query has seen so far. Not
// inline: it is called once a block, and copies of it would make the library larger.
__attribute__((noinline)) static void mergeBlock(float *total, float *most, float *weight,
                                                 const float *result, float blockMost, float blockWeight,
                                                 size_t headWidth) {
  const float top = blockMost > *most ? blockMost : *most;
  float factors[kLanes] = {*most - top, blockMost - top};
  store(factors, exponential(load(factors)));
  const F16 old = splat(factors[0]), added = splat(factors[1]);
  for (size_t i = 0; i < headWidth; i += kLanes) {
    store(total + i, fma(load(result + i), added, mul(load(total + i), old)));
  }
  *weight = *weight * factors[0] + blockWeight * factors[1];
  *most = top;
}

// Makes a query's result of its weighted values.
__attribute__((noinline)) static void finish(const Attention &a, float *total, float weight) {
  const F16 inverse = splat(1.0f / weight);
  for (size_t d = 0; d < a.headWidth(); d += kLanes) store(total + d, mul(load(total + d), inverse));
  rotate(a, total);
}

// The queries of a task with the positions of a block that each sees; those that see none are left out. Not
// inline, as mergeBlock.
__attribute__((noinline)) static size_t queriesOf(const Attention &a, const AttentionTask &task, size_t block, Query *all,
                        size_t *indexes) {
  const size_t base = block * kContextBlock, past = task.group->past(task.row);
  const size_t perHead = a.queriesPerHead();
  size_t count = 0;
  for (size_t i = 0; i < task.numTokens * perHead; i++) {
    const size_t token = task.firstToken + i / perHead, own = past + token + 1;
    const size_t start = a.window > 0 && own > a.window ? own - a.window : 0;
    const size_t seen = a.endOf(*task.group, task.row, token);
    if (seen <= base || start >= base + kContextBlock) continue;
    all[i].first = start > base ? start - base : 0;
    all[i].end = seen - base < kContextBlock ? seen - base : kContextBlock;
    indexes[count++] = i;
  }
  return count;
}

// Attends to a cache of type T; where there is a `packed` one, to that, a block of which becomes floats in turn.
template <CacheType T>
static void attendTo(const Attention &a, const AttentionTask &task, const Attention *packed = nullptr,
                     float *unpacked = nullptr) {
  const AttentionGroup &group = *task.group;
  const size_t headWidth = a.headWidth(), perHead = a.queriesPerHead();
  const Attention &cached = packed ? *packed : a;
  const uint8_t *keys = tilesOf(cached, group, group.keys, task.row, task.kvHead);
  const uint8_t *values = tilesOf(cached, group, group.values, task.row, task.kvHead);
  const size_t numQueries = task.numTokens * perHead;
  // The next head has the same block where it begins: likely the next task's, of this or another row.
  // Several tokens compute for longer than that is worth.
  const size_t ahead = task.numTokens == 1 && !packed ? group.capacity / kTile * tileBytes(a) : 0;
  alignas(64) float scores[kMaxQueries * kContextBlock];
  alignas(64) float results[kMaxQueries * kMaxHeadDim];
  Query all[kMaxQueries], seeing[kMaxQueries];
  size_t indexes[kMaxQueries];
  for (size_t i = 0; i < numQueries; i++) {
    const size_t token = group.firstToken + task.row * group.tokens + task.firstToken + i / perHead;
    const size_t head = task.kvHead * perHead + i % perHead;
    all[i].values = a.queries + (token * a.heads + head) * a.headDim;
    all[i].total = a.output + (token * a.heads + head) * headWidth;
    all[i].most = a.sinks ? a.sinks[head] : kLowest;
    all[i].weight = a.sinks ? 1.0f : 0.0f;
    if (!task.partials) memset(all[i].total, 0, headWidth * sizeof(float));
  }
  for (size_t block = task.firstBlock; block < task.endBlock; block++) {
    const size_t count = queriesOf(a, task, block, all, indexes), base = block * kContextBlock;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
      seeing[i] = all[indexes[i]];
      last = seeing[i].end > last ? seeing[i].end : last;
    }
    const size_t firstTile = base / kTile * tileBytes(cached), numTiles = divideUp(last, kTile);
    const auto blockOf = [&](const uint8_t *tiles, bool isKey) {
      if (!packed) return tiles + firstTile;
      for (size_t tile = 0; tile < numTiles; tile++) {
        unpackTile(cached, tiles + firstTile + tile * tileBytes(cached), isKey, unpacked + tile * kTile * headWidth);
      }
      return static_cast<const uint8_t *>(static_cast<const void *>(unpacked));
    };
    scoreAll<T, kQueries>(a, seeing, count, blockOf(keys, true), numTiles, ahead, scores);
    float most[kMaxQueries], weight[kMaxQueries];
    for (size_t i = 0; i < count; i++) {
      weight[i] = weigh(a, scores + i * kContextBlock, seeing[i].first, seeing[i].end, most + i);
    }
    valueAll<T, kQueries>(a, blockOf(values, false), seeing, count, scores, ahead, results);
    for (size_t i = 0; i < count; i++) {
      Query &query = all[indexes[i]];
      const float *result = results + i * headWidth;
      if (!task.partials) {
        mergeBlock(query.total, &query.most, &query.weight, result, most[i], weight[i], headWidth);
        continue;
      }
      float *partial = task.partials + (indexes[i] * task.partialBlocks + block) * a.partialSize();
      memcpy(partial, result, headWidth * sizeof(float));
      partial[headWidth] = most[i];
      partial[headWidth + 1] = weight[i];
    }
  }
  if (task.partials) return;
  for (size_t i = 0; i < numQueries; i++) {
    finish(cached, all[i].total, all[i].weight);
  }
}

// Attends to a cache of int4. Not inline: only that has a block of floats on its stack.
__attribute__((noinline)) static void attendPacked(const Attention &a, const AttentionTask &task) {
  alignas(64) float unpacked[kContextBlock * kMaxHeadDim];
  Attention floats = a;
  floats.cacheType = CacheType::kFloat32;
  attendTo<CacheType::kFloat32>(floats, task, &a, unpacked);
}

void attend(const Attention &a, const AttentionTask &task) {
  if (a.cacheType == CacheType::kInt4) return attendPacked(a, task);
  if (a.cacheType == CacheType::kFloat32) return attendTo<CacheType::kFloat32>(a, task);
  if (a.cacheType == CacheType::kFloat16) return attendTo<CacheType::kFloat16>(a, task);
  attendTo<CacheType::kInt8>(a, task);
}

void merge(const Attention &a, const AttentionTask &task) {
  const size_t headWidth = a.headWidth(), perHead = a.queriesPerHead();
  Query all[kMaxQueries];
  size_t indexes[kMaxQueries];
  float most[kMaxQueries], weight[kMaxQueries];
  const size_t numQueries = task.numTokens * perHead;
  const auto totalOf = [&](size_t i) {
    const size_t token = task.group->firstToken + task.row * task.group->tokens + task.firstToken + i / perHead;
    return a.output + (token * a.heads + task.kvHead * perHead + i % perHead) * headWidth;
  };
  for (size_t i = 0; i < numQueries; i++) {
    const size_t head = task.kvHead * perHead + i % perHead;
    most[i] = a.sinks ? a.sinks[head] : kLowest;
    weight[i] = a.sinks ? 1.0f : 0.0f;
    memset(totalOf(i), 0, headWidth * sizeof(float));
  }
  for (size_t block = task.firstBlock; block < task.endBlock; block++) {
    const size_t count = queriesOf(a, task, block, all, indexes);
    for (size_t j = 0; j < count; j++) {
      const size_t i = indexes[j];
      const float *partial = task.partials + (i * task.partialBlocks + block) * a.partialSize();
      mergeBlock(totalOf(i), most + i, weight + i, partial, partial[headWidth], partial[headWidth + 1], headWidth);
    }
  }
  for (size_t i = 0; i < numQueries; i++) {
    finish(a, totalOf(i), weight[i]);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
