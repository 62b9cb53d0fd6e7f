// How keys and values lie in the cache; see Attention in kernels.h.
#pragma once

#include "integers.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Positions that lie together.
constexpr size_t kTile = kLanes;

static inline size_t tileBytes(const Attention &a) { return kTile * positionBytes(a.cacheType, a.headWidth()); }

// Scales of a tile's int8 positions.
static inline const float *scalesOf(const Attention &a, const uint8_t *tile) {
  return reinterpret_cast<const float *>(tile + kTile * a.headWidth());
}

// The tiles of a head of a row.
static inline uint8_t *tilesOf(const Attention &a, const AttentionGroup &group, void *base, size_t row,
                               size_t kvHead) {
  const size_t tiles = (row * a.kvHeads + kvHead) * (group.capacity / kTile);
  return static_cast<uint8_t *>(base) + tiles * tileBytes(a);
}

// Scales of a tile's int4 positions, and the least numbers after them.
static inline uint16_t *blockScalesOf(const Attention &a, uint8_t *tile) {
  return reinterpret_cast<uint16_t *>(tile + kTile * kLanes * divideUp(a.headWidth(), kPair));
}

// Sums and differences of lanes whose numbers differ by H.
template <size_t H>
static inline F16 butterfly(F16 x) {
  static_assert(kLanes == 16);
  constexpr float kOdd = -1.0f;
  alignas(64) static constexpr float kSigns[kLanes] = {
      1,                 H & 1 ? kOdd : 1,  H & 2 ? kOdd : 1,  H & 3 ? kOdd : 1,
      H & 4 ? kOdd : 1,  H & 5 ? kOdd : 1,  H & 6 ? kOdd : 1,  H & 7 ? kOdd : 1,
      H & 8 ? kOdd : 1,  H & 9 ? kOdd : 1,  H & 10 ? kOdd : 1, H & 11 ? kOdd : 1,
      H & 12 ? kOdd : 1, H & 13 ? kOdd : 1, H & 14 ? kOdd : 1, H & 15 ? kOdd : 1,
  };
  return fma(x, load(kSigns), swapLanes(x, H));
}

// Rotates a head of an int8 or int4 cache by a Hadamard matrix over its dimensions, divided by the root of its
// size; over groups of dimensions where their number is no power of two. A few dimensions of keys are often much
// larger than the others, of which few bits beside them would hold little: after it all are about as large.
// Queries are rotated too, so scores stay as they are; what values add up to is turned back by the same matrix.
// (QuaRot, arXiv:2404.00456.)
__attribute__((noinline)) static void rotate(const Attention &a, float *x) {
  if (a.cacheType == CacheType::kFloat32 || a.cacheType == CacheType::kFloat16) return;
  const size_t headDim = a.headDim, size = headDim & (~headDim + 1);
  alignas(64) float all[kMaxHeadDim];
  store(all + (headDim - 1) / kLanes * kLanes, zeros());
  memcpy(all, x, headDim * sizeof(float));
  for (size_t i = 0; i < headDim; i += kLanes) {
    F16 lanes = butterfly<1>(load(all + i));
    if (size > 2) lanes = butterfly<2>(lanes);
    if (size > 4) lanes = butterfly<4>(lanes);
    if (size > 8) lanes = butterfly<8>(lanes);
    store(all + i, lanes);
  }
  for (size_t half = kLanes; half < size; half *= 2) {
    for (size_t i = 0; i < headDim; i += kLanes) {
      if (i & half) continue;
      const F16 first = load(all + i), second = load(all + i + half);
      store(all + i, add(first, second));
      store(all + i + half, sub(first, second));
    }
  }
  const float factor = 1.0f / __builtin_sqrtf(float(size));
  for (size_t i = 0; i < headDim; i++) x[i] = all[i] * factor;
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
