// Groups of sequences and their states, as operators have them for inputs.
#include "state-groups.h"

#include <cstring>

namespace chairlift {

static bool isRow(int64_t row, size_t rows) { return row >= -1 && row < int64_t(rows); }

// Adds a group, if it is there, and checks that its rows are in the pool.
static void readGroup(Call &call, States &states, size_t first, size_t rows) {
  const Input ids = call.input(first, sizeof(int64_t)), from = call.input(first + 1);
  const Input to = call.input(first + 2), count = call.input(first + 3);
  if (states.numGroups > 0 && !ids.data && !from.data) return;
  if (!call.check(ids.data && from.data && to.data && count.data, "a group lacks an input")) return;
  StateGroup group{};
  group.firstToken = states.numTokens();
  group.batch = from.bytes / sizeof(int32_t);
  const size_t tokens = ids.bytes / sizeof(int64_t);
  if (!call.check(group.batch > 0 && tokens > 0 && tokens % group.batch == 0, "input_ids have no whole rows")) return;
  group.tokens = tokens / group.batch;
  group.from = from.as<int32_t>();
  group.to = to.as<int32_t>();
  group.count = count.as<int32_t>();
  call.check(to.bytes == from.bytes && count.bytes == from.bytes, "a group has not a state for each row");
  for (size_t row = 0; row < group.batch && !call.status; row++) {
    call.check(isRow(group.from[row], rows) && isRow(group.to[row], rows), "a state is not in the pool");
    call.check(group.count[row] >= 0 && size_t(group.count[row]) <= group.tokens, "state_tokens are out of range");
  }
  if (!call.status) states.groups[states.numGroups++] = group;
}

States readStates(Call &call, size_t first, size_t width) {
  States states{};
  states.width = width;
  const Input pool = call.input(first);
  const size_t rows = pool.bytes / (width * sizeof(float));
  call.check(pool.bytes == rows * width * sizeof(float), "the pool has no whole states");
  for (size_t group = 0; group < kMaxGroups && !call.status && states.numGroups == group; group++) {
    readGroup(call, states, first + 1 + group * kStateInputs, rows);
  }
  const int64_t dims[] = {int64_t(rows), int64_t(width)};
  states.pool = static_cast<float *>(call.output(1, dims, 2));
  if (!call.status && states.pool != pool.data && pool.bytes > 0) memcpy(states.pool, pool.data, pool.bytes);
  return states;
}

int stateInputType(size_t first, size_t input) {
  if (input <= first) return kFloat;
  return (input - first - 1) % kStateInputs == 0 ? kInt64 : kInt32;
}

bool isStateInputRequired(size_t first, size_t input) { return input >= first && input <= first + kStateInputs; }

}  // namespace chairlift
