// Sums that low-rank adapters add to a linear layer: B (A x), for each row by its own adapter.
//
// Rows of the same adapter share what is read of it. A row's sums are taken in the same order whatever
// rows are computed with it: of features the even and the odd ones, each in order; of ranks in order.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Halves that memory is asked for in advance: A and B are read from one end to the other.
constexpr size_t kAheadOfRanks = 2048;
constexpr size_t kRankRows = kRows8 < 4 ? kRows8 : 4;

// A row, normalized if there is a norm, among those of its adapter.
static inline void gather(const LowRank &task, size_t at) {
  const size_t features = task.shape->features;
  const float *x = task.input + task.rows[at] * features;
  float *to = task.gathered + at * features;
  const F16 factor = splat(task.norm ? normFactor(x, features, task.epsilon) : 1.0f);
  for (size_t i = 0; i < features; i += kLanes) {
    const size_t count = features - i;
    F16 values = loadSome(x + i, count);
    if (task.norm) values = mul(mul(values, factor), loadSome(task.norm + i, count));
    storeSome(to + i, values, count);
  }
}

// Sixteen ranks of A times R rows.
template <size_t R>
static inline void reduceTile(const LowRank &task, const uint16_t *down, size_t at, float *to) {
  const size_t features = task.shape->features, width = task.shape->width();
  const float *x = task.gathered + at * features;
  F16 sums[R][2];
  for (size_t r = 0; r < R; r++) sums[r][0] = sums[r][1] = zeros();
  size_t i = 0;
  for (; i + 2 <= features; i += 2, down += 2 * kLanes) {
    prefetch(down + kAheadOfRanks);
    const F16 even = loadHalf(down), odd = loadHalf(down + kLanes);
#pragma GCC unroll 4
    for (size_t r = 0; r < R; r++) {
      sums[r][0] = fma(splat(x[r * features + i]), even, sums[r][0]);
      sums[r][1] = fma(splat(x[r * features + i + 1]), odd, sums[r][1]);
    }
  }
  for (size_t r = 0; r < R; r++) {
    if (i < features) sums[r][0] = fma(splat(x[r * features + i]), loadHalf(down), sums[r][0]);
    store(to + r * width, mul(add(sums[r][0], sums[r][1]), splat(task.scales[at + r])));
  }
}

// The largest tiles first, then what is left in ever smaller ones.
template <size_t R>
static inline void reduceTiles(const LowRank &task, const uint16_t *down, size_t at, size_t end, float *to) {
  for (; at + R <= end; at += R, to += R * task.shape->width()) reduceTile<R>(task, down, at, to);
  if constexpr (R > 1) reduceTiles<R / 2>(task, down, at, end, to);
}

void lowRankReduce(const LowRank &task, size_t slot, size_t first, size_t end) {
  const LowRankShape &shape = *task.shape;
  for (size_t at = first; at < end; at++) gather(task, at);
  for (size_t part = 0; part < shape.parts; part++) {
    const uint16_t *down = task.halves(slot) + shape.firstDown(part);
    float *reduced = task.reduced + first * shape.width() + part * shape.paddedRank;
    for (size_t rank = 0; rank < task.rank(slot, part); rank += kLanes) {
      reduceTiles<kRankRows>(task, down + rank * shape.features, first, end, reduced + rank);
    }
  }
}

static inline void storePair(const LowRank &task, size_t at, size_t column, size_t count, F16 first, F16 second) {
  float *to = task.output + task.rows[at] * task.shape->columns() + column;
  storeSome(to, first, count);
  if (count > kLanes) storeSome(to + kLanes, second, count - kLanes);
}

// A pair of columns of B times R rows.
template <size_t R>
static inline void expandTile(const LowRank &task, const uint16_t *up, size_t rank, const float *reduced, size_t at,
                              size_t column, size_t count) {
  const size_t width = task.shape->width();
  F16 sums[R][2];
  for (size_t r = 0; r < R; r++) sums[r][0] = sums[r][1] = zeros();
  for (size_t k = 0; k < rank; k++, up += kPair) {
    prefetch(up + kAheadOfRanks);
    const F16 first = loadHalf(up), second = loadHalf(up + kLanes);
#pragma GCC unroll 4
    for (size_t r = 0; r < R; r++) {
      const F16 x = splat(reduced[r * width + k]);
      sums[r][0] = fma(x, first, sums[r][0]);
      sums[r][1] = fma(x, second, sums[r][1]);
    }
  }
  for (size_t r = 0; r < R; r++) storePair(task, at + r, column, count, sums[r][0], sums[r][1]);
}

template <size_t R>
static inline void expandTiles(const LowRank &task, const uint16_t *up, size_t rank, const float *reduced, size_t at,
                               size_t end, size_t column, size_t count) {
  const size_t width = task.shape->width();
  for (; at + R <= end; at += R) expandTile<R>(task, up, rank, reduced + at * width, at, column, count);
  if constexpr (R > 1) expandTiles<R / 2>(task, up, rank, reduced, at, end, column, count);
}

void lowRankExpand(const LowRank &task, size_t part, size_t firstPair, size_t endPair) {
  const LowRankShape &shape = *task.shape;
  const size_t start = shape.firstColumn(part), columns = shape.partColumns[part];
  const size_t pairHalves = shape.paddedRank * kPair;
  // Added to a number, this leaves it as it is: zero would turn -0 to 0.
  const F16 nothing = splat(-0.0f);
  for (size_t slot = 0; slot <= task.numSlots; slot++) {
    const size_t first = task.starts[slot], end = task.starts[slot + 1];
    const size_t rank = slot < task.numSlots && first < end ? task.rank(slot, part) : 0;
    const uint16_t *up = rank == 0 ? nullptr : task.halves(slot) + shape.firstUp(part);
    for (size_t pair = firstPair; pair < endPair; pair++) {
      const size_t column = start + pair * kPair, count = columns - pair * kPair;
      if (rank == 0) {
        for (size_t at = first; at < end; at++) storePair(task, at, column, count, nothing, nothing);
      } else {
        const float *reduced = task.reduced + part * shape.paddedRank;
        expandTiles<kRankRows>(task, up + pair * pairHalves, rank, reduced, first, end, column, count);
      }
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
