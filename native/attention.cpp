// Causal attention over a KV cache.
//
// A task has some queries of one head of the cache. For each block of kContextBlock positions it computes
// scores, weights values by them, and merges the block's result with those of the blocks before. All of that is
// the same for a token that is decoded and for one of a prompt.
#include "float-attention.h"
#include "integer-attention.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

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
  attendBlocks(a, task, aheadOf(a, task), computeIntegers<Integers>, &integers);
}

// Numbers of sixteen bytes: those of their low bits, and of their high ones.
struct Unpacked {
  F16 low, high;
};
static inline Unpacked unpack(const uint8_t *bytes, F16 scale, F16 least) {
  const F16 both = loadBytes(reinterpret_cast<const int8_t *>(bytes));
  // (both + 128) / 16 - 15 / 32 is nearest to the high bits' number, whatever the low ones are.
  const F16 high = toFloat(toInt(fma(both, splat(0.0625f), splat(7.53125f))));
  const F16 low = fmaNegative(high, splat(16.0f), add(both, splat(128.0f)));
  return {fma(low, scale, least), fma(high, scale, least)};
}

// Turns a tile of int4 into one of float32.
__attribute__((noinline)) static void unpackTile(const Attention &a, const uint8_t *tile, bool isKey, float *to) {
  const size_t width = a.headWidth(), blocks = divideUp(width, kPair);
  const uint16_t *scales = blockScalesOf(a, const_cast<uint8_t *>(tile)), *leasts = scales + blocks * kTile;
  for (size_t block = 0; block < blocks; block++) {
    const F16 scale = loadHalf(scales + block * kTile), least = loadHalf(leasts + block * kTile);
    alignas(64) float scaleOf[kTile], leastOf[kTile];
    store(scaleOf, scale);
    store(leastOf, least);
    const bool isWhole = width - block * kPair > kLanes;
    // Sixteen dimensions of a key, or positions of a value.
    for (size_t i = 0; i < kTile; i++) {
      const Unpacked x = isKey ? unpack(tile + (block * kLanes + i) * kTile, scale, least)
                               : unpack(tile + (i * blocks + block) * kLanes, splat(scaleOf[i]), splat(leastOf[i]));
      float *low = to + (isKey ? (block * kPair + i) * kTile : i * width + block * kPair);
      store(low, x.low);
      if (isWhole) store(low + (isKey ? kLanes * kTile : kLanes), x.high);
    }
  }
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
