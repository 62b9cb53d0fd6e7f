// Causal attention over a KV cache.
//
// A task has some queries of one head of the cache. For each block of kContextBlock positions it turns
// keys so that sixteen positions lie in a vector, computes scores in the order of dimensions, weights
// values in the order of positions, and merges the block's result with those of the blocks before. All
// of that is the same for a token that is decoded and for one of a prompt.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

constexpr float kLowest = -3.0e38f;
// Positions whose keys are turned together.
constexpr size_t kTurned = 4 * kLanes;

// ---- The cache's types ------------------------------------------------------------------------------

struct Position {
  const uint8_t *bytes;
  CacheType type;
  size_t headDim;

  // What int8 is to be multiplied by.
  float scale() const {
    if (type != CacheType::kInt8) return 1.0f;
    float value;
    memcpy(&value, bytes + headDim, sizeof value);
    return value;
  }
};

template <CacheType T>
static inline F16 loadCached(const uint8_t *position, size_t dimension) {
  if constexpr (T == CacheType::kFloat32) {
    return load(reinterpret_cast<const float *>(position) + dimension);
  } else if constexpr (T == CacheType::kFloat16) {
    return loadHalf(reinterpret_cast<const uint16_t *>(position) + dimension);
  } else {
    return loadBytes(reinterpret_cast<const int8_t *>(position) + dimension);
  }
}

static void storeCached(CacheType type, uint8_t *position, const float *values, size_t headDim) {
  if (type == CacheType::kFloat32) {
    memcpy(position, values, headDim * sizeof(float));
  } else if (type == CacheType::kFloat16) {
    for (size_t i = 0; i < headDim; i += kLanes) {
      storeHalf(reinterpret_cast<uint16_t *>(position) + i, load(values + i));
    }
  } else {
    float rounding[4] = {};
    int32_t unused;
    const Quantization row{values, headDim, nullptr, 0.0f, {nullptr, nullptr, nullptr, headDim, headDim}};
    quantizeBlock(row, values, 0, 1.0f, reinterpret_cast<int8_t *>(position), rounding, &unused);
    memcpy(position + headDim, rounding, sizeof rounding);
  }
}

static inline size_t strideOf(const Attention &a) { return positionBytes(a.cacheType, a.headDim); }

static inline uint8_t *cacheOf(const Attention &a, const AttentionGroup &group, void *base, size_t row,
                               size_t kvHead) {
  const size_t heads = row * a.kvHeads + kvHead;
  return static_cast<uint8_t *>(base) + heads * group.capacity * strideOf(a);
}

// ---- Appending --------------------------------------------------------------------------------------

// Turns a head, normalized by `factor` and weights if there are any.
static void turn(const Attention &a, const float *x, const float *norm, float factor, size_t position,
                 float *turned) {
  const size_t half = a.headDim / 2;
  const float *cos = a.cos + position * half, *sin = a.sin + position * half;
  for (size_t i = 0; i < half; i += kLanes) {
    const size_t count = half - i;
    F16 first = loadSome(x + i, count), second = loadSome(x + half + i, count);
    if (norm) {
      first = mul(mul(first, splat(factor)), loadSome(norm + i, count));
      second = mul(mul(second, splat(factor)), loadSome(norm + half + i, count));
    }
    const F16 c = loadSome(cos + i, count), s = loadSome(sin + i, count);
    storeSome(turned + i, fmaNegative(second, s, mul(first, c)), count);
    storeSome(turned + half + i, fma(second, c, mul(first, s)), count);
  }
}

// Turns heads that lie side by side, each into `store`.
template <class Store>
static inline void turnHeads(const Attention &a, const float *x, size_t heads, const float *norm,
                             size_t position, Store store) {
  const bool together = norm && a.normsAllHeads;
  const float ofAll = together ? normFactor(x, heads * a.headDim, a.epsilon) : 1.0f;
  for (size_t head = 0; head < heads; head++) {
    const float *of = x + head * a.headDim;
    const float factor = norm && !together ? normFactor(of, a.headDim, a.epsilon) : ofAll;
    store(head, of, together ? norm + head * a.headDim : norm, factor, position);
  }
}

void append(const Attention &a, size_t groupIndex, size_t firstToken, size_t endToken) {
  const AttentionGroup &group = a.groups[groupIndex];
  const size_t headDim = a.headDim, stride = strideOf(a);
  float turned[kMaxHeadDim];
  for (size_t token = firstToken; token < endToken; token++) {
    const size_t row = token / group.tokens;
    const size_t position = group.past(row) + token % group.tokens;
    const size_t at = group.firstToken + token;
    const float *query = a.qkv + at * a.width();
    const float *key = query + a.heads * headDim;
    const float *value = key + a.kvHeads * headDim;
    turnHeads(a, query, a.heads, a.queryNorm, position,
              [&](size_t head, const float *x, const float *norm, float factor, size_t) {
                turn(a, x, norm, factor, position, a.queries + (at * a.heads + head) * headDim);
              });
    turnHeads(a, key, a.kvHeads, a.keyNorm, position,
              [&](size_t head, const float *x, const float *norm, float factor, size_t) {
                turn(a, x, norm, factor, position, turned);
                uint8_t *cache = cacheOf(a, group, group.keys, row, head);
                storeCached(a.cacheType, cache + position * stride, turned, headDim);
              });
    for (size_t head = 0; head < a.kvHeads; head++) {
      uint8_t *cache = cacheOf(a, group, group.values, row, head);
      storeCached(a.cacheType, cache + position * stride, value + head * headDim, headDim);
    }
  }
}

// ---- Attending --------------------------------------------------------------------------------------

// A query, the positions that it sees of the block at hand, and what it has seen so far.
struct Query {
  const float *values;
  float *total;  // [head_dim] weighted values
  size_t first, end;
  float most, weight;
};

// Keys [head_dim][kTurned] of positions from `position` on; zeros from `end` on, which has no memory.
template <CacheType T>
static inline void turnKeys(const Attention &a, const uint8_t *keys, size_t position, size_t end,
                            float *turned) {
  const size_t stride = strideOf(a);
  for (size_t part = 0; part < kTurned; part += kLanes) {
    for (size_t dimension = 0; dimension < a.headDim; dimension += kLanes) {
      F16 rows[kLanes];
      for (size_t i = 0; i < kLanes; i++) {
        const size_t at = position + part + i;
        const uint8_t *key = keys + at * stride;
        rows[i] = at >= end ? zeros() : loadCached<T>(key, dimension);
        if (T == CacheType::kInt8 && at < end) {
          rows[i] = mul(rows[i], splat(Position{key, T, a.headDim}.scale()));
        }
      }
      transpose(rows);
      for (size_t i = 0; i < kLanes; i++) store(turned + (dimension + i) * kTurned + part, rows[i]);
    }
  }
}

// Scores of Q queries with kTurned positions.
template <size_t Q>
static inline void scoreTile(const Attention &a, const Query *queries, const float *keys, float *scores) {
  constexpr size_t kVectors = kTurned / kLanes;
  F16 sums[Q][kVectors];
  for (size_t q = 0; q < Q; q++) {
    for (size_t v = 0; v < kVectors; v++) sums[q][v] = zeros();
  }
  for (size_t dimension = 0; dimension < a.headDim; dimension++, keys += kTurned) {
    F16 key[kVectors];
    for (size_t v = 0; v < kVectors; v++) key[v] = load(keys + v * kLanes);
    for (size_t q = 0; q < Q; q++) {
      const F16 query = splat(queries[q].values[dimension]);
      for (size_t v = 0; v < kVectors; v++) sums[q][v] = fma(query, key[v], sums[q][v]);
    }
  }
  for (size_t q = 0; q < Q; q++) {
    for (size_t v = 0; v < kVectors; v++) store(scores + q * kContextBlock + v * kLanes, sums[q][v]);
  }
}

// Turns a block's scores into weights. Returns their sum, and the largest score.
static inline float weigh(const Attention &a, float *scores, size_t first, size_t end, float *most) {
  F16 top = splat(kLowest);
  for (size_t at = first / kLanes * kLanes; at < end; at += kLanes) {
    F16 score = load(scores + at);
    if (a.softcap > 0) {
      const F16 cap = splat(a.softcap);
      score = mul(cap, hyperbolicTangent(divide(score, cap)));
    }
    score = within(score, first > at ? first - at : 0, end - at, splat(kLowest));
    store(scores + at, score);
    top = larger(score, top);
  }
  *most = largest(top);
  const F16 subtrahend = splat(*most);
  F16 total = zeros();
  for (size_t at = first / kLanes * kLanes; at < end; at += kLanes) {
    const F16 weight = within(exponential(sub(load(scores + at), subtrahend)),
                              first > at ? first - at : 0, end - at, zeros());
    store(scores + at, weight);
    total = add(total, weight);
  }
  return sum(total);
}

// Adds V vectors of the values of positions [first, end), weighted, for Q queries.
template <CacheType T, size_t Q, size_t V>
static inline void addValues(const uint8_t *values, size_t stride, size_t headDim, size_t dimension,
                             const float *weights, size_t first, size_t end, F16 sums[Q][V]) {
  for (size_t p = first; p < end; p++) {
    const uint8_t *position = values + p * stride;
    const float scale = T == CacheType::kInt8 ? Position{position, T, headDim}.scale() : 1.0f;
    F16 value[V];
    for (size_t v = 0; v < V; v++) value[v] = loadCached<T>(position, dimension + v * kLanes);
    for (size_t q = 0; q < Q; q++) {
      const float weight = weights[q * kContextBlock + p];
      const F16 factor = splat(T == CacheType::kInt8 ? weight * scale : weight);
      for (size_t v = 0; v < V; v++) sums[q][v] = fma(factor, value[v], sums[q][v]);
    }
  }
}

// The weighted values of a block, of Q queries, V vectors at a time. Queries see different positions:
// those that all see are computed together, the others in turn, so that what one does not see can't
// reach it, not even a value that is not a number.
template <CacheType T, size_t Q, size_t V>
static inline void valueTile(const Attention &a, const uint8_t *values, const Query *queries,
                             const float *weights, size_t dimension, float *results) {
  const size_t stride = strideOf(a);
  size_t first = queries[0].first, end = queries[0].end;
  for (size_t q = 1; q < Q; q++) {
    first = queries[q].first > first ? queries[q].first : first;
    end = queries[q].end < end ? queries[q].end : end;
  }
  if (end < first) end = first;
  F16 sums[Q][V];
  for (size_t q = 0; q < Q; q++) {
    F16 one[1][V];
    for (size_t v = 0; v < V; v++) one[0][v] = zeros();
    const size_t before = queries[q].end < first ? queries[q].end : first;
    addValues<T, 1, V>(values, stride, a.headDim, dimension, weights + q * kContextBlock,
                       queries[q].first, before, one);
    for (size_t v = 0; v < V; v++) sums[q][v] = one[0][v];
  }
  addValues<T, Q, V>(values, stride, a.headDim, dimension, weights, first, end, sums);
  for (size_t q = 0; q < Q; q++) {
    F16 one[1][V];
    for (size_t v = 0; v < V; v++) one[0][v] = sums[q][v];
    addValues<T, 1, V>(values, stride, a.headDim, dimension, weights + q * kContextBlock, end,
                       queries[q].end, one);
    for (size_t v = 0; v < V; v++) store(results + q * a.headDim + dimension + v * kLanes, one[0][v]);
  }
}

template <CacheType T, size_t Q>
static inline void blockValues(const Attention &a, const uint8_t *values, const Query *queries,
                               const float *weights, float *results) {
  size_t dimension = 0;
  for (; dimension + 4 * kLanes <= a.headDim; dimension += 4 * kLanes) {
    valueTile<T, Q, 4>(a, values, queries, weights, dimension, results);
  }
  for (; dimension < a.headDim; dimension += kLanes) {
    valueTile<T, Q, 1>(a, values, queries, weights, dimension, results);
  }
}

// Takes a block's result, relative to its own largest score, into what a query has seen so far.
static inline void mergeBlock(float *total, float *most, float *weight, const float *result,
                              float blockMost, float blockWeight, size_t headDim) {
  const float top = blockMost > *most ? blockMost : *most;
  float factors[kLanes] = {*most - top, blockMost - top};
  store(factors, exponential(load(factors)));
  const F16 old = splat(factors[0]), added = splat(factors[1]);
  for (size_t i = 0; i < headDim; i += kLanes) {
    store(total + i, fma(load(result + i), added, mul(load(total + i), old)));
  }
  *weight = *weight * factors[0] + blockWeight * factors[1];
  *most = top;
}

// What is left of the queries, in ever smaller tiles, like rows of a product.
template <size_t Q>
static inline void scoreAll(const Attention &a, const Query *queries, size_t count, const float *keys,
                            float *scores) {
  for (; count >= Q; count -= Q, queries += Q, scores += Q * kContextBlock) {
    scoreTile<Q>(a, queries, keys, scores);
  }
  if constexpr (Q > 1) scoreAll<Q / 2>(a, queries, count, keys, scores);
}

template <CacheType T, size_t Q>
static inline void valueAll(const Attention &a, const uint8_t *values, const Query *queries, size_t count,
                            const float *weights, float *results) {
  for (; count >= Q; count -= Q, queries += Q, weights += Q * kContextBlock, results += Q * a.headDim) {
    blockValues<T, Q>(a, values, queries, weights, results);
  }
  if constexpr (Q > 1) valueAll<T, Q / 2>(a, values, queries, count, weights, results);
}

// The queries of a task with the positions of a block that each sees; those that see none are left out.
static size_t queriesOf(const Attention &a, const AttentionTask &task, size_t block, Query *all,
                        size_t *indexes) {
  const size_t base = block * kContextBlock, past = task.group->past(task.row);
  const size_t perHead = a.queriesPerHead();
  size_t count = 0;
  for (size_t i = 0; i < task.numTokens * perHead; i++) {
    const size_t seen = past + task.firstToken + i / perHead + 1;
    const size_t start = a.window > 0 && seen > a.window ? seen - a.window : 0;
    if (seen <= base || start >= base + kContextBlock) continue;
    all[i].first = start > base ? start - base : 0;
    all[i].end = seen - base < kContextBlock ? seen - base : kContextBlock;
    indexes[count++] = i;
  }
  return count;
}

template <CacheType T>
static void attendTo(const Attention &a, const AttentionTask &task) {
  const AttentionGroup &group = *task.group;
  const size_t headDim = a.headDim, perHead = a.queriesPerHead(), stride = strideOf(a);
  const uint8_t *keys = cacheOf(a, group, group.keys, task.row, task.kvHead);
  const uint8_t *values = cacheOf(a, group, group.values, task.row, task.kvHead);
  const size_t numQueries = task.numTokens * perHead;
  alignas(64) float turned[kMaxHeadDim * kTurned];
  alignas(64) float scores[kMaxQueries * kContextBlock];
  alignas(64) float results[kMaxQueries * kMaxHeadDim];
  Query all[kMaxQueries], seeing[kMaxQueries];
  size_t indexes[kMaxQueries];
  for (size_t i = 0; i < numQueries; i++) {
    const size_t token = group.firstToken + task.row * group.tokens + task.firstToken + i / perHead;
    const size_t head = task.kvHead * perHead + i % perHead;
    all[i].values = a.queries + (token * a.heads + head) * headDim;
    all[i].total = a.output + (token * a.heads + head) * headDim;
    all[i].most = a.sinks ? a.sinks[head] : kLowest;
    all[i].weight = a.sinks ? 1.0f : 0.0f;
    if (!task.partials) memset(all[i].total, 0, headDim * sizeof(float));
  }
  for (size_t block = task.firstBlock; block < task.endBlock; block++) {
    const size_t count = queriesOf(a, task, block, all, indexes), base = block * kContextBlock;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
      seeing[i] = all[indexes[i]];
      last = seeing[i].end > last ? seeing[i].end : last;
    }
    for (size_t part = 0; part < last; part += kTurned) {
      turnKeys<T>(a, keys + base * stride, part, last, turned);
      scoreAll<kQueries>(a, seeing, count, turned, scores + part);
    }
    float most[kMaxQueries], weight[kMaxQueries];
    for (size_t i = 0; i < count; i++) {
      weight[i] = weigh(a, scores + i * kContextBlock, seeing[i].first, seeing[i].end, most + i);
    }
    valueAll<T, kQueries>(a, values + base * stride, seeing, count, scores, results);
    for (size_t i = 0; i < count; i++) {
      Query &query = all[indexes[i]];
      const float *result = results + i * headDim;
      if (!task.partials) {
        mergeBlock(query.total, &query.most, &query.weight, result, most[i], weight[i], headDim);
        continue;
      }
      float *partial = task.partials + (indexes[i] * task.partialBlocks + block) * a.partialSize();
      memcpy(partial, result, headDim * sizeof(float));
      partial[headDim] = most[i];
      partial[headDim + 1] = weight[i];
    }
  }
  if (task.partials) return;
  for (size_t i = 0; i < numQueries; i++) {
    const F16 inverse = splat(1.0f / all[i].weight);
    for (size_t d = 0; d < headDim; d += kLanes) {
      store(all[i].total + d, mul(load(all[i].total + d), inverse));
    }
  }
}

void attend(const Attention &a, const AttentionTask &task) {
  if (a.cacheType == CacheType::kFloat32) return attendTo<CacheType::kFloat32>(a, task);
  if (a.cacheType == CacheType::kFloat16) return attendTo<CacheType::kFloat16>(a, task);
  attendTo<CacheType::kInt8>(a, task);
}

void merge(const Attention &a, const AttentionTask &task) {
  const size_t headDim = a.headDim, perHead = a.queriesPerHead();
  Query all[kMaxQueries];
  size_t indexes[kMaxQueries];
  float most[kMaxQueries], weight[kMaxQueries];
  const size_t numQueries = task.numTokens * perHead;
  const auto totalOf = [&](size_t i) {
    const size_t token = task.group->firstToken + task.row * task.group->tokens + task.firstToken + i / perHead;
    return a.output + (token * a.heads + task.kvHead * perHead + i % perHead) * headDim;
  };
  for (size_t i = 0; i < numQueries; i++) {
    const size_t head = task.kvHead * perHead + i % perHead;
    most[i] = a.sinks ? a.sinks[head] : kLowest;
    weight[i] = a.sinks ? 1.0f : 0.0f;
    memset(totalOf(i), 0, headDim * sizeof(float));
  }
  for (size_t block = task.firstBlock; block < task.endBlock; block++) {
    const size_t count = queriesOf(a, task, block, all, indexes);
    for (size_t j = 0; j < count; j++) {
      const size_t i = indexes[j];
      const float *partial = task.partials + (i * task.partialBlocks + block) * a.partialSize();
      mergeBlock(totalOf(i), most + i, weight + i, partial, partial[headDim], partial[headDim + 1], headDim);
    }
  }
  for (size_t i = 0; i < numQueries; i++) {
    const F16 inverse = splat(1.0f / weight[i]);
    for (size_t d = 0; d < headDim; d += kLanes) {
      store(totalOf(i) + d, mul(load(totalOf(i) + d), inverse));
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
