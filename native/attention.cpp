// Causal attention over a KV cache.
//
// A task has some queries of one head of the cache. For each block of kContextBlock positions it computes
// scores, weights values by them, and merges the block's result with those of the blocks before. All of that is
// the same for a token that is decoded and for one of a prompt.
#include "float-attention.h"
#include "integer-attention.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Takes blocks' results, each relative to its own largest score, into what queries have seen so far: sixteen queries'
// factors at a time. Not inline: copies of it would make the library larger.
// @param indexes of the queries among `all` that the blocks' results are of
__attribute__((noinline)) static void mergeBlocks(const Attention &a, Query *all, const size_t *indexes, size_t count) {
  alignas(64) float before[kMaxQueries] = {}, added[kMaxQueries] = {};
  for (size_t i = 0; i < count; i++) {
    Query &query = all[indexes[i]];
    const float top = query.blockMost > query.most ? query.blockMost : query.most;
    before[i] = query.most - top;
    added[i] = query.blockMost - top;
    query.most = top;
  }
  for (size_t i = 0; i < count; i += kLanes) {
    store(before + i, exponential(load(before + i)));
    store(added + i, exponential(load(added + i)));
  }
  for (size_t i = 0; i < count; i++) {
    Query &query = all[indexes[i]];
    const F16 old = splat(before[i]), own = splat(added[i]);
    for (size_t d = 0; d < a.headWidth(); d += kLanes) {
      store(query.total + d, fma(load(query.result + d), own, mul(load(query.total + d), old)));
    }
    query.weight = query.weight * before[i] + query.blockWeight * added[i];
  }
}

// Makes a query's result of its weighted values.
__attribute__((noinline)) static void finish(const Attention &a, float *total, float weight) {
  const F16 inverse = splat(1.0f / weight);
  for (size_t d = 0; d < a.headWidth(); d += kLanes) store(total + d, mul(load(total + d), inverse));
  rotate(a, total);
}

// The queries of a task with the positions of a block that each sees; those that see none are left out. Not
// inline, as mergeBlocks.
__attribute__((noinline)) static size_t queriesOf(const Attention &a, const AttentionTask &task, size_t block,
                                                  Query *all, size_t *indexes) {
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

// Begins a query of a task.
__attribute__((noinline)) static void begin(const Attention &a, const AttentionTask &task, size_t i, Query *query) {
  const size_t place = placeOf(a, task, i);
  query->index = i;
  query->values = a.queries + place * a.headDim;
  query->total = a.output + place * a.headWidth();
  query->most = a.sinks ? a.sinks[place % a.heads] : kLowest;
  query->weight = a.sinks ? 1.0f : 0.0f;
}

// Function that computes a block: it leaves results, and in queries what these are relative to.
using Compute = void (*)(const Attention &, const Block &, Query *, void *state);

// Attends block by block. Not inline: copies of it would make the library larger.
__attribute__((noinline)) static void attendBlocks(const Attention &a, const AttentionTask &task, size_t ahead,
                                                   Compute compute, void *state) {
  const AttentionGroup &group = *task.group;
  const size_t headWidth = a.headWidth();
  const uint8_t *keys = tilesOf(a, group, group.keys, task.row, task.kvHead);
  const uint8_t *values = tilesOf(a, group, group.values, task.row, task.kvHead);
  const size_t numQueries = task.numTokens * a.queriesPerHead();
  alignas(64) float scores[kMaxQueries * kContextBlock];
  alignas(64) float results[kMaxQueries * kMaxHeadDim];
  Query all[kMaxQueries], seeing[kMaxQueries];
  size_t indexes[kMaxQueries];
  for (size_t i = 0; i < numQueries; i++) {
    begin(a, task, i, all + i);
    if (!task.partials) memset(all[i].total, 0, headWidth * sizeof(float));
  }
  for (size_t number = task.firstBlock; number < task.endBlock; number++) {
    const size_t count = queriesOf(a, task, number, all, indexes);
    const size_t first = number * kContextBlock / kTile * tileBytes(a);
    Block block{seeing, count, keys + first, values + first, 0, ahead, scores, results};
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
      all[indexes[i]].result = results + i * headWidth;
      seeing[i] = all[indexes[i]];
      last = seeing[i].end > last ? seeing[i].end : last;
    }
    block.numTiles = divideUp(last, kTile);
    compute(a, block, seeing, state);
    for (size_t i = 0; i < count; i++) {
      Query &query = all[indexes[i]];
      query.blockMost = seeing[i].blockMost;
      query.blockWeight = seeing[i].blockWeight;
      if (!task.partials) continue;
      float *partial = task.partials + (indexes[i] * task.partialBlocks + number) * a.partialSize();
      memcpy(partial, query.result, headWidth * sizeof(float));
      partial[headWidth] = query.blockMost;
      partial[headWidth + 1] = query.blockWeight;
    }
    if (!task.partials) mergeBlocks(a, all, indexes, count);
  }
  if (task.partials) return;
  for (size_t i = 0; i < numQueries; i++) finish(a, all[i].total, all[i].weight);
}

// Bytes to the next head, which has the same block where it begins: likely the next task's, of this or another
// row. Several tokens compute for longer than that is worth.
static size_t aheadOf(const Attention &a, const AttentionTask &task) {
  return task.numTokens == 1 ? task.group->capacity / kTile * tileBytes(a) : 0;
}

template <CacheType T>
__attribute__((noinline)) static void computeFloats(const Attention &a, const Block &block, Query *queries, void *) {
  scoreFloats<T>(a, block);
  weighAll(a, block, queries);
  addFloats<T>(a, block);
}

// Attends to a cache of int8. Not inline: only that has queries of integers on its stack.
__attribute__((noinline)) static void attendIntegers(const Attention &a, const AttentionTask &task) {
  Integers integers(a, task);
  const auto compute = [](const Attention &a, const Block &block, Query *queries, void *state) {
    Integers *integers = static_cast<Integers *>(state);
    integers->scoreBlock(a, block);
    weighAll(a, block, queries);
    integers->addBlock(a, block);
  };
  attendBlocks(a, task, aheadOf(a, task), compute, &integers);
}

// Attends to a cache of int4, a block of which becomes floats. Not inline: only that has these on its stack.
__attribute__((noinline)) static void attendPacked(const Attention &a, const AttentionTask &task) {
  alignas(64) float unpacked[2 * kContextBlock * kMaxHeadDim];
  const auto compute = [](const Attention &a, const Block &packed, Query *queries, void *state) {
    float *keys = static_cast<float *>(state), *values = keys + kContextBlock * kMaxHeadDim;
    for (size_t tile = 0; tile < packed.numTiles; tile++) {
      unpackTile(a, packed.keys + tile * tileBytes(a), true, keys + tile * kTile * a.headWidth());
      unpackTile(a, packed.values + tile * tileBytes(a), false, values + tile * kTile * a.headWidth());
    }
    Attention floats = a;
    floats.cacheType = CacheType::kFloat32;
    Block block = packed;
    block.keys = reinterpret_cast<const uint8_t *>(keys);
    block.values = reinterpret_cast<const uint8_t *>(values);
    computeFloats<CacheType::kFloat32>(floats, block, queries, nullptr);
  };
  attendBlocks(a, task, 0, compute, unpacked);
}

void attend(const Attention &a, const AttentionTask &task) {
  switch (a.cacheType) {
    case CacheType::kFloat32:
      return attendBlocks(a, task, aheadOf(a, task), computeFloats<CacheType::kFloat32>, nullptr);
    case CacheType::kFloat16:
      return attendBlocks(a, task, aheadOf(a, task), computeFloats<CacheType::kFloat16>, nullptr);
    case CacheType::kInt8:
      return attendIntegers(a, task);
    case CacheType::kInt4:
      return attendPacked(a, task);
  }
}

void merge(const Attention &a, const AttentionTask &task) {
  const size_t headWidth = a.headWidth();
  Query all[kMaxQueries];
  size_t indexes[kMaxQueries];
  const size_t numQueries = task.numTokens * a.queriesPerHead();
  for (size_t i = 0; i < numQueries; i++) {
    begin(a, task, i, all + i);
    memset(all[i].total, 0, headWidth * sizeof(float));
  }
  for (size_t block = task.firstBlock; block < task.endBlock; block++) {
    const size_t count = queriesOf(a, task, block, all, indexes);
    for (size_t i = 0; i < count; i++) {
      Query &query = all[indexes[i]];
      query.result = task.partials + (indexes[i] * task.partialBlocks + block) * a.partialSize();
      query.blockMost = query.result[headWidth];
      query.blockWeight = query.result[headWidth + 1];
    }
    mergeBlocks(a, all, indexes, count);
  }
  for (size_t i = 0; i < numQueries; i++) finish(a, all[i].total, all[i].weight);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
