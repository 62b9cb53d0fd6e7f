// How keys and values lie in the cache, and how they get there; see Attention in kernels.h.
#pragma once

#include "lanes.h"

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

template <class Element>
static inline void scatter(Element *to, size_t stride, const Element *values, size_t count) {
  for (size_t i = 0; i < count; i++) to[i * stride] = values[i];
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

// Writes a head of a position in four bits, padded likewise; see kernels.h.
__attribute__((noinline)) static void storePacked(const Attention &a, uint8_t *tile, size_t at, bool isKey,
                                                  const float *values) {
  const size_t width = a.headWidth(), blocks = divideUp(width, kPair);
  uint16_t *scales = blockScalesOf(a, tile) + at, *leasts = scales + blocks * kTile;
  for (size_t block = 0; block < blocks; block++) {
    const F16 low = load(values + block * kPair);
    const F16 high = width - block * kPair > kLanes ? load(values + block * kPair + kLanes) : zeros();
    const float most = largest(larger(low, high)), least = -largest(larger(sub(zeros(), low), sub(zeros(), high)));
    // Rounded as they will be read.
    uint16_t halves[kLanes];
    float rounded[kLanes] = {(most - least) / 15.0f, least};
    storeHalf(halves, load(rounded));
    store(rounded, loadHalf(halves));
    scales[block * kTile] = halves[0];
    leasts[block * kTile] = halves[1];
    const F16 inverse = splat(rounded[0] > 0.0f ? 1.0f / rounded[0] : 0.0f), from = splat(rounded[1]);
    const auto bitsOf = [&](F16 x) {
      return toFloat(toInt(smaller(larger(mul(sub(x, from), inverse), zeros()), splat(15.0f))));
    };
    int8_t bytes[kLanes];
    storeBytes(bytes, addInt(toInt(fma(bitsOf(high), splat(16.0f), bitsOf(low))), splatInt(-128)));
    int8_t *to = reinterpret_cast<int8_t *>(tile) + (isKey ? block * kLanes * kTile + at : (at * blocks + block) * kLanes);
    scatter(to, isKey ? kTile : 1, bytes, kLanes);
  }
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

// Writes a head of a position, padded: a column of its tile if it is a key, a row if it is a value. Not
// inline: copies of it would make the library larger.
__attribute__((noinline)) static void storePosition(const Attention &a, uint8_t *tiles, size_t position, bool isKey,
                          const float *values) {
  const size_t width = a.headWidth(), at = position % kTile;
  const size_t first = isKey ? at : at * width, stride = isKey ? kTile : 1;
  uint8_t *tile = tiles + position / kTile * tileBytes(a);
  if (a.cacheType == CacheType::kInt4) return storePacked(a, tile, at, isKey, values);
  if (a.cacheType == CacheType::kFloat32) {
    scatter(reinterpret_cast<float *>(tile) + first, stride, values, width);
  } else if (a.cacheType == CacheType::kFloat16) {
    uint16_t halves[kMaxHeadDim];
    for (size_t i = 0; i < width; i += kLanes) storeHalf(halves + i, load(values + i));
    scatter(reinterpret_cast<uint16_t *>(tile) + first, stride, halves, width);
  } else {
    I16 most = splatInt(0);
    for (size_t i = 0; i < width; i += kLanes) most = largerMagnitude(most, load(values + i));
    const IntegerScale of = integerScale(most);
    int8_t bytes[kMaxHeadDim];
    for (size_t i = 0; i < width; i += kLanes) {
      storeBytes(bytes + i, toIntegers(load(values + i), splat(of.inverse)));
    }
    reinterpret_cast<float *>(tile + kTile * width)[at] = of.scale;
    scatter(reinterpret_cast<int8_t *>(tile) + first, stride, bytes, width);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
