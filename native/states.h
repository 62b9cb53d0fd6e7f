// Layers that keep a state of fixed size for each sequence, where attention keeps positions.
//
// A state is a row of a pool. A run reads it from one row and writes what it is after the run to another,
// so that the rows of sequences that go on are not those of snapshots. Tokens are computed one by one in
// their order, so that a text may be cut anywhere.
#pragma once

#include "kernels.h"

namespace chairlift {

// Sequences with the same number of tokens in a run, as those of attention.
struct StateGroup {
  size_t firstToken;  // among all groups'
  size_t batch;
  size_t tokens;         // of each sequence, padding included
  const int32_t *from;   // [batch] row of the state; -1 for zeros, with which a text begins
  const int32_t *to;     // [batch] row of the state after the run; -1 for none
  const int32_t *count;  // [batch] tokens without padding, which comes after them
};

// A sequence in a run.
struct StateRow {
  size_t firstToken, tokens;
  size_t count;       // tokens without padding
  const float *from;  // null for zeros
  float *to;          // null for none
};

struct States {
  size_t width;  // of a state
  float *pool;   // [rows, width]
  float *spare;  // [rows of all groups, width] for those that have tokens and no row to write; null for none
  StateGroup groups[kMaxGroups];
  size_t numGroups;

  size_t numRows() const {
    size_t rows = 0;
    for (size_t i = 0; i < numGroups; i++) rows += groups[i].batch;
    return rows;
  }
  size_t numTokens() const {
    size_t tokens = 0;
    for (size_t i = 0; i < numGroups; i++) tokens += groups[i].batch * groups[i].tokens;
    return tokens;
  }
  StateRow row(size_t at) const {
    const StateGroup *group = groups;
    size_t index = at;
    for (; index >= group->batch; group++) index -= group->batch;
    const int32_t from = group->from[index], to = group->to[index];
    float *const otherwise = spare && group->count[index] > 0 ? spare + at * width : nullptr;
    return {group->firstToken + index * group->tokens, group->tokens, size_t(group->count[index]),
            from < 0 ? nullptr : pool + size_t(from) * width, to < 0 ? otherwise : pool + size_t(to) * width};
  }
  // Floats that `spare` needs.
  size_t spareFloats() const {
    for (size_t i = 0; i < numRows(); i++) {
      const StateRow own = row(i);
      if (own.count > 0 && !own.to) return numRows() * width;
    }
    return 0;
  }
};

constexpr size_t kMaxTaps = 8;

// Convolution of each channel by itself, over a token and those before it. Output of padding is 0.
struct ShortConvolution {
  size_t channels;  // a multiple of kLanes
  size_t taps;
  // Then the input is [tokens, 3 channels]: B, C and x. The convolution is of B x, its result times C.
  bool isGated;
  Activation activation;
  const float *input;    // [tokens, channels]
  const float *weights;  // [channels, taps], the last one for the token itself
  const float *bias;     // [channels]; null for none
  float *output;         // [tokens, channels]
  States states;         // [taps - 1, channels]: the input of the tokens before, the oldest first
};

constexpr size_t kMaxStateDim = 256;

// A matrix of each head, to which each token adds its value times its key, after what is there has decayed; a query
// finds there what is like it. By the delta rule the value replaces what the key found; keys and queries have length
// 1 then. Output of padding is 0.
struct Recurrence {
  bool isDelta;
  size_t heads, keyHeads;   // several heads may share keys and queries
  size_t keyDim, valueDim;  // multiples of kLanes, up to kMaxStateDim
  size_t rates;             // of a head: 1, or key_dim where each dimension of keys decays by itself
  float least, most;        // bounds of dt, the time that a token takes
  const float *packed;      // [tokens, width] queries, keys and values; without the delta rule values, keys and queries
  const float *gates;       // [tokens, heads, rates] dt before its softplus; with the delta rule after betas' logits
  const float *decay;       // [heads] in a unit of time; negative
  const float *bias;        // [heads, rates] of dt
  const float *skip;        // [heads] share of the value that is added to the output; null for none
  float *output;            // [tokens, heads, value_dim]
  // [heads, value_dim / 32, key_dim, 32], and sixteen that are left over [key_dim, 16]: what a token of some columns
  // reads is in one place.
  States states;

  size_t keysWidth() const { return keyHeads * keyDim; }
  size_t valuesWidth() const { return heads * valueDim; }
  size_t packedWidth() const { return 2 * keysWidth() + valuesWidth(); }
  size_t gatesWidth() const { return heads * (rates + (isDelta ? 1 : 0)); }
  const float *query(size_t token, size_t head) const {
    return packed + token * packedWidth() + (isDelta ? 0 : valuesWidth() + keysWidth()) + keyOffset(head);
  }
  const float *key(size_t token, size_t head) const {
    return packed + token * packedWidth() + (isDelta ? keysWidth() : valuesWidth()) + keyOffset(head);
  }
  const float *value(size_t token, size_t head) const {
    return packed + token * packedWidth() + (isDelta ? 2 * keysWidth() : 0) + head * valueDim;
  }
  float *result(size_t token, size_t head) const { return output + (token * heads + head) * valueDim; }
  size_t keyOffset(size_t head) const { return head / (heads / keyHeads) * keyDim; }
};

}  // namespace chairlift
