// How keys and values lie in the cache, and how they get there; see Attention in kernels.h.
#pragma once

#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Positions that lie together.
constexpr size_t kTile = kLanes;

template <CacheType T>
static inline size_t elementBytes() {
  return T == CacheType::kFloat32 ? sizeof(float) : T == CacheType::kFloat16 ? sizeof(uint16_t) : 1;
}

template <CacheType T>
static inline F16 loadCached(const uint8_t *from) {
  if constexpr (T == CacheType::kFloat32) {
    return load(reinterpret_cast<const float *>(from));
  } else if constexpr (T == CacheType::kFloat16) {
    return loadHalf(reinterpret_cast<const uint16_t *>(from));
  } else {
    return loadBytes(reinterpret_cast<const int8_t *>(from));
  }
}

static inline size_t tileBytes(const Attention &a) { return kTile * positionBytes(a.cacheType, a.headDim); }

// What a tile's int8 positions are to be multiplied by.
static inline const float *scalesOf(const Attention &a, const uint8_t *tile) {
  return reinterpret_cast<const float *>(tile + kTile * a.headDim);
}

// The tiles of a head of a row.
static inline uint8_t *tilesOf(const Attention &a, const AttentionGroup &group, void *base, size_t row,
                               size_t kvHead) {
  const size_t tiles = (row * a.kvHeads + kvHead) * (group.capacity / kTile);
  return static_cast<uint8_t *>(base) + tiles * tileBytes(a);
}

template <class Element>
static inline void scatter(Element *to, size_t stride, const Element *values, size_t count) {
  for (size_t i = 0; i < count; i++) to[i * stride] = values[i];
}

// Writes a head of a position: a column of its tile if it is a key, a row if it is a value.
static void storePosition(const Attention &a, uint8_t *tiles, size_t position, bool isKey,
                          const float *values) {
  const size_t headDim = a.headDim, at = position % kTile;
  const size_t first = isKey ? at : at * headDim, stride = isKey ? kTile : 1;
  uint8_t *tile = tiles + position / kTile * tileBytes(a);
  if (a.cacheType == CacheType::kFloat32) {
    scatter(reinterpret_cast<float *>(tile) + first, stride, values, headDim);
  } else if (a.cacheType == CacheType::kFloat16) {
    uint16_t halves[kMaxHeadDim];
    for (size_t i = 0; i < headDim; i += kLanes) storeHalf(halves + i, load(values + i));
    scatter(reinterpret_cast<uint16_t *>(tile) + first, stride, halves, headDim);
  } else {
    int8_t bytes[kMaxHeadDim];
    int32_t unused;
    const Quantization row{values, headDim, nullptr, 0.0f, {nullptr, nullptr, nullptr, headDim, headDim}};
    float *scale = reinterpret_cast<float *>(tile + kTile * headDim) + at;
    quantizeBlock(row, values, 0, 1.0f, bytes, scale, &unused);
    scatter(reinterpret_cast<int8_t *>(tile) + first, stride, bytes, headDim);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
