// Queries before attention, and what a token adds to the cache: head norms, rotary embedding.
#include "cache.h"
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

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
