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

template <class Element>
static inline void scatter(Element *to, size_t stride, const Element *values, size_t count) {
  for (size_t i = 0; i < count; i++) to[i * stride] = values[i];
}

// Writes a head of a position, padded: a column of its tile if it is a key, a row if it is a value. Not
// inline: copies of it would make the library larger.
__attribute__((noinline)) static void storePosition(const Attention &a, uint8_t *tiles, size_t position, bool isKey,
                          const float *values) {
  const size_t width = a.headWidth(), at = position % kTile;
  const size_t first = isKey ? at : at * width, stride = isKey ? kTile : 1;
  uint8_t *tile = tiles + position / kTile * tileBytes(a);
  if (a.cacheType == CacheType::kFloat32) {
    scatter(reinterpret_cast<float *>(tile) + first, stride, values, width);
  } else if (a.cacheType == CacheType::kFloat16) {
    uint16_t halves[kMaxHeadDim];
    for (size_t i = 0; i < width; i += kLanes) storeHalf(halves + i, load(values + i));
    scatter(reinterpret_cast<uint16_t *>(tile) + first, stride, halves, width);
  } else {
    I16 most = splatInt(0);
    for (size_t i = 0; i < width; i += kLanes) most = largerMagnitude(most, load(values + i));
    const ByteScale of = byteScale(most);
    int8_t bytes[kMaxHeadDim];
    for (size_t i = 0; i < width; i += kLanes) {
      storeBytes(bytes + i, toBytes(load(values + i), splat(of.inverse)));
    }
    reinterpret_cast<float *>(tile + kTile * width)[at] = of.scale;
    scatter(reinterpret_cast<int8_t *>(tile) + first, stride, bytes, width);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
