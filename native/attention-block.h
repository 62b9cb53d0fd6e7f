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

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
