// Inputs of operators with states, made up as the others of cases.h.
#pragma once

#include "../states.h"
#include "cases.h"

namespace chairlift {

// Sequences of one or two groups.
struct StateCase {
  size_t numGroups, batches[kMaxGroups], lengths[kMaxGroups];

  StateCase() : numGroups(1 + below(2)) {
    for (size_t g = 0; g < numGroups; g++) {
      batches[g] = 1 + below(3);
      lengths[g] = maybe(2) ? 1 : 1 + upTo(20);
    }
  }
  size_t tokens() const {
    size_t all = 0;
    for (size_t g = 0; g < numGroups; g++) all += batches[g] * lengths[g];
    return all;
  }
};

static void addRows(FakeContext &context, const int64_t *rows, size_t count) {
  Buffer &buffer = addInput(context, count * sizeof(int32_t));
  for (size_t i = 0; (i + 1) * sizeof(int32_t) <= buffer.bytes; i++) {
    const int32_t row = i < count ? int32_t(disturb(rows[i])) : -1;
    memcpy(buffer.data + i * sizeof row, &row, sizeof row);
  }
}

// Adds a pool, and groups that read its first half and write its other half, each row once.
static void addStates(FakeContext &context, const StateCase &of, size_t width) {
  constexpr size_t kHalf = 8;
  for (int &bound : context.bound) bound = -1;
  addFloats(context, 2 * kHalf * width, 1.0f);
  context.bound[1] = maybe(4) ? -1 : int(context.numInputs - 1);
  size_t next = kHalf;
  for (size_t g = 0; g < of.numGroups; g++) {
    int64_t from[3], to[3], counts[3];
    for (size_t row = 0; row < of.batches[g]; row++) {
      from[row] = int64_t(below(kHalf + 1)) - 1;
      to[row] = maybe(4) ? -1 : int64_t(next++);
      counts[row] = int64_t(maybe(2) ? of.lengths[g] : below(of.lengths[g] + 1));
    }
    addInput(context, of.batches[g] * of.lengths[g] * sizeof(int64_t));
    addRows(context, from, of.batches[g]);
    addRows(context, to, of.batches[g]);
    addRows(context, counts, of.batches[g]);
  }
  cacheElement = 4;
}

static void makeShortConvolution(FakeInfo &info, FakeContext &context) {
  const size_t channels = kLanes * (1 + upTo(8)), taps = 2 + below(kMaxTaps - 1);
  const bool isGated = maybe(2);
  const StateCase of;
  addAttribute(info, "channels", int64_t(channels));
  addAttribute(info, "kernel", int64_t(taps));
  addAttribute(info, "activation", int64_t(below(2)));
  addAttribute(info, "gated", isGated);
  addFloats(context, of.tokens() * channels * (isGated ? 3 : 1), 2.0f);
  addFloats(context, channels * taps, 1.0f);
  addFloats(context, channels, 1.0f, maybe(2));
  addStates(context, of, (taps - 1) * channels);
}

static void makeRecurrence(FakeInfo &info, FakeContext &context, bool isDelta) {
  const size_t keyHeads = 1 + below(3), heads = keyHeads * (1 + below(3));
  const size_t keyDim = kLanes * (1 + upTo(6)), valueDim = kLanes * (1 + upTo(6));
  const StateCase of;
  addAttribute(info, "num_heads", int64_t(heads));
  addAttribute(info, isDelta ? "key_heads" : "num_groups", int64_t(keyHeads));
  addAttribute(info, isDelta ? "key_dim" : "state_size", int64_t(keyDim));
  addAttribute(info, isDelta ? "value_dim" : "head_dim", int64_t(valueDim));
  if (!isDelta && maybe(2)) addAttribute(info, "dt_min", 0, 0.1f);
  if (!isDelta && maybe(2)) addAttribute(info, "dt_max", 0, 1.0f);
  addFloats(context, of.tokens() * (2 * keyHeads * keyDim + heads * valueDim), 1.0f);
  const size_t rates = isDelta && maybe(2) ? keyDim : 1;
  addFloats(context, of.tokens() * heads * (rates + (isDelta ? 1 : 0)), 4.0f);
  addFloats(context, heads, 1.0f);
  addFloats(context, heads * rates, 2.0f);
  if (!isDelta) addFloats(context, heads, 1.0f);
  addStates(context, of, heads * keyDim * valueDim);
}

}  // namespace chairlift
