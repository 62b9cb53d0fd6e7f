// A block of positions, and the queries that see some of them: what the ways to attend have in common.
#pragma once

#include "cache.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

constexpr float kLowest = -3.0e38f;

// A query, the positions that it sees of the block at hand, and what it has seen so far.
struct Query {
  size_t index;  // in the task
  const float *values;
  float *total;  // [head_width] weighted values
  size_t first, end;
  float most, weight;            // of all blocks so far: the largest score, the weights' sum
  float blockMost, blockWeight;  // of the block
  const float *result;           // [head_width] weighted values of the block, relative to `blockMost`
};

// Place of a task's query among all heads of all tokens.
static inline size_t placeOf(const Attention &a, const AttentionTask &task, size_t query) {
  const size_t perHead = a.queriesPerHead();
  const size_t token = task.group->firstToken + task.row * task.group->tokens + task.firstToken + query / perHead;
  return token * a.heads + task.kvHead * perHead + query % perHead;
}

struct Block {
  const Query *queries;
  size_t count;
  const uint8_t *keys, *values;  // tiles
  size_t numTiles;
  size_t ahead;    // bytes from here to tiles that are asked for meanwhile
  float *scores;   // [queries][kContextBlock]; then weights
  float *results;  // [queries][head_width] weighted values
};

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

// The scores of all queries as weights. Not inline: copies of it would make the library larger.
__attribute__((noinline)) static void weighAll(const Attention &a, const Block &block, Query *queries) {
  for (size_t i = 0; i < block.count; i++) {
    Query &query = queries[i];
    query.blockWeight = weigh(a, block.scores + i * kContextBlock, query.first, query.end, &query.blockMost);
  }
}

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

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
