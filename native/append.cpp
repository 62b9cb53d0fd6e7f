// Queries before attention, and what a token adds to the cache: head norms, rotary embedding.
#include "cache.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

template <class Element>
static inline void scatter(Element *to, size_t stride, const Element *values, size_t count) {
  for (size_t i = 0; i < count; i++) to[i * stride] = values[i];
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
    const size_t first = isKey ? block * kLanes * kTile + at : (at * blocks + block) * kLanes;
    int8_t *to = reinterpret_cast<int8_t *>(tile) + first;
    scatter(to, isKey ? kTile : 1, bytes, kLanes);
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

// Turns some of `heads` heads that lie side by side; `to` says where each goes, `then` takes it from there.
template <class To, class Then>
static inline void turnHeads(const Attention &a, const float *x, size_t heads, size_t firstHead,
                             size_t endHead, const float *norm, size_t position, To to, Then then) {
  const bool together = norm && a.normsAllHeads;
  const float ofAll = together ? normFactor(x, heads * a.headDim, a.epsilon) : 1.0f;
  for (size_t head = firstHead; head < endHead; head++) {
    const float *of = x + head * a.headDim;
    const float factor = norm && !together ? normFactor(of, a.headDim, a.epsilon) : ofAll;
    turn(a, of, together ? norm + head * a.headDim : norm, factor, position, to(head));
    then(head);
  }
}

void append(const Attention &a, const AttentionGroup &group, size_t firstToken, size_t endToken,
            size_t firstHead, size_t endHead) {
  const size_t headDim = a.headDim, perHead = a.queriesPerHead();
  // A head with zeros after it, up to its width in the cache.
  float padded[kMaxHeadDim] = {};
  for (size_t token = firstToken; token < endToken; token++) {
    const size_t row = token / group.tokens;
    const size_t position = group.past(row) + token % group.tokens;
    const size_t at = group.firstToken + token;
    const float *query = a.qkv + at * a.width();
    const float *key = query + a.heads * headDim;
    const float *value = key + a.kvHeads * headDim;
    turnHeads(
        a, query, a.heads, firstHead * perHead, endHead * perHead, a.queryNorm, position,
        [&](size_t head) { return a.queries + (at * a.heads + head) * headDim; },
        [&](size_t head) { rotate(a, a.queries + (at * a.heads + head) * headDim); });
    turnHeads(
        a, key, a.kvHeads, firstHead, endHead, a.keyNorm, position, [&](size_t) { return padded; },
        [&](size_t head) {
          rotate(a, padded);
          storePosition(a, tilesOf(a, group, group.keys, row, head), position, true, padded);
        });
    for (size_t head = firstHead; head < endHead; head++) {
      memcpy(padded, value + head * headDim, headDim * sizeof(float));
      rotate(a, padded);
      storePosition(a, tilesOf(a, group, group.values, row, head), position, false, padded);
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
