// States that are matrices: the gated delta rule and the selective scan, token by token.
#include "lanes.h"
#include "states.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Sums of a product that are added up at the end, so that one need not wait for the other.
constexpr size_t kSums = 2;

// log(1 + e^x)
static inline F16 softplus(F16 x) {
  // log(1 + y) = 2 atanh(y / (2 + y)), with y from 0 to 1.
  const F16 y = exponential(smaller(x, sub(zeros(), x)));
  const F16 z = divide(y, add(splat(2.0f), y)), squared = mul(z, z);
  F16 series = splat(1.0f / 15);
  for (int term = 13; term > 0; term -= 2) series = fma(series, squared, splat(1.0f / float(term)));
  return fma(add(z, z), series, larger(x, zeros()));
}

// Sixteen tokens of a head: how much of the state each keeps, [16, rates], and how much it adds, and factors of its
// key and query.
struct Steps {
  float kept[kLanes * kMaxStateDim], added[kLanes], keyScale[kLanes], queryScale[kLanes];
};

// 1 over the length of a key or query. Not inline: copies of it would make the library larger.
__attribute__((noinline)) static float inverseLength(const float *values, size_t count) {
  F16 squares = zeros();
  for (size_t i = 0; i < count; i += kLanes) squares = fma(load(values + i), load(values + i), squares);
  return 1.0f / __builtin_sqrtf(sum(squares) + 1e-6f);
}

// Sixteen times, from what comes before their softplus, and what they leave of a state. Not inline, as above.
__attribute__((noinline)) static void pass(const Recurrence &r, size_t head, float *times, float *kept) {
  const F16 delta = smaller(larger(softplus(load(times)), splat(r.least)), splat(r.most));
  store(times, delta);
  store(kept, exponential(mul(delta, splat(r.decay[head]))));
}

static void prepare(const Recurrence &r, size_t firstToken, size_t count, size_t head, Steps *steps) {
  const float *gates = r.gates + firstToken * r.gatesWidth(), *bias = r.bias + head * r.rates;
  float deltas[kLanes] = {}, betas[kLanes] = {};
  for (size_t t = 0; t < count; t++, gates += r.gatesWidth()) {
    const float *of = gates + (r.isDelta ? r.heads : 0) + head * r.rates;
    betas[t] = gates[head];
    if (r.rates == 1) deltas[t] = of[0] + bias[0];
    for (size_t i = 0; i + kLanes <= r.rates; i += kLanes) {
      float times[kLanes];
      store(times, add(load(of + i), load(bias + i)));
      pass(r, head, times, steps->kept + t * r.rates + i);
    }
  }
  if (r.rates == 1) pass(r, head, deltas, steps->kept);
  const F16 one = splat(1.0f);
  store(steps->added, r.isDelta ? divide(one, add(one, exponential(sub(zeros(), load(betas))))) : load(deltas));
  const float scale = 1.0f / __builtin_sqrtf(float(r.keyDim));
  for (size_t t = 0; t < count; t++) {
    steps->keyScale[t] = r.isDelta ? inverseLength(r.key(firstToken + t, head), r.keyDim) : 1.0f;
    steps->queryScale[t] = r.isDelta ? scale * inverseLength(r.query(firstToken + t, head), r.keyDim) : 1.0f;
  }
}

// Columns of a state, [rates, width], of which each dimension of keys decays by itself. Not inline, as above.
__attribute__((noinline)) static void decayRows(const float *kept, size_t rates, size_t width, const float *from,
                                                float *to) {
  for (size_t i = 0; i < rates; i++) {
    const F16 left = splat(kept[i]);
    for (size_t at = i * width; at < (i + 1) * width; at += kLanes) store(to + at, mul(load(from + at), left));
  }
}

// Some vectors of a token's values: their columns of the state, [key_dim, V, 16], become what they are after it, and
// `values` what the query finds there.
template <size_t V>
static inline void step(const Recurrence &r, const float *from, float *to, const float *key, const float *query,
                        const Steps &steps, size_t t, F16 *values) {
  constexpr size_t kWidth = V * kLanes;
  const float *keptOf = steps.kept + t * r.rates;
  const bool isByRow = r.rates > 1;
  if (isByRow) {
    decayRows(keptOf, r.rates, kWidth, from, to);
    from = to;
  }
  const F16 kept = splat(isByRow ? 1.0f : keptOf[0]), keyScale = splat(steps.keyScale[t]);
  F16 sums[V][kSums];
  if (r.isDelta) {
    // The value takes the place of what the key finds there.
    for (auto &ofVector : sums) {
      for (F16 &sum : ofVector) sum = zeros();
    }
    for (size_t i = 0; i < r.keyDim; i += kSums) {
      for (size_t s = 0; s < kSums; s++) {
        const F16 x = splat(key[i + s]);
        for (size_t v = 0; v < V; v++) sums[v][s] = fma(x, load(from + (i + s) * kWidth + v * kLanes), sums[v][s]);
      }
    }
    for (size_t v = 0; v < V; v++) values[v] = fmaNegative(mul(add(sums[v][0], sums[v][1]), kept), keyScale, values[v]);
  }
  F16 added[V];
  for (size_t v = 0; v < V; v++) {
    added[v] = mul(mul(values[v], splat(steps.added[t])), keyScale);
    for (F16 &sum : sums[v]) sum = zeros();
  }
  for (size_t i = 0; i < r.keyDim; i += kSums) {
    for (size_t s = 0; s < kSums; s++) {
      const F16 x = splat(key[i + s]), y = splat(query[i + s]);
      for (size_t v = 0; v < V; v++) {
        const size_t at = (i + s) * kWidth + v * kLanes;
        const F16 now = fma(x, added[v], mul(load(from + at), kept));
        store(to + at, now);
        sums[v][s] = fma(y, now, sums[v][s]);
      }
    }
  }
  for (size_t v = 0; v < V; v++) values[v] = mul(add(sums[v][0], sums[v][1]), splat(steps.queryScale[t]));
}

// Up to sixteen tokens. Not inline: copies of it would make the library larger.
template <size_t V>
__attribute__((noinline)) static void stepAll(const Recurrence &r, size_t firstToken, size_t count, size_t head,
                                              size_t column, const Steps &steps, const float *from, float *to) {
  for (size_t t = 0; t < count; t++, from = to) {
    const size_t token = firstToken + t;
    const float *values = r.value(token, head) + column;
    F16 results[V];
    for (size_t v = 0; v < V; v++) results[v] = load(values + v * kLanes);
    step<V>(r, from, to, r.key(token, head), r.query(token, head), steps, t, results);
    for (size_t v = 0; v < V; v++) {
      if (r.skip) results[v] = fma(splat(r.skip[head]), load(values + v * kLanes), results[v]);
      store(r.result(token, head) + column + v * kLanes, results[v]);
    }
  }
}

void recur(const Recurrence &r, size_t rowIndex, size_t head, size_t firstPair, size_t endPair) {
  const StateRow row = r.states.row(rowIndex);
  const size_t begin = firstPair * kPair, end = endPair * kPair < r.valueDim ? endPair * kPair : r.valueDim;
  const auto columns = [&](auto *state, size_t column) { return state + (head * r.valueDim + column) * r.keyDim; };
  const size_t bytes = (end - begin) * r.keyDim * sizeof(float);
  if (row.to && !row.from) memset(columns(row.to, begin), 0, bytes);
  else if (row.to && row.count == 0) memmove(columns(row.to, begin), columns(row.from, begin), bytes);
  for (size_t t = row.count; t < row.tokens; t++) {
    memset(r.result(row.firstToken + t, head) + begin, 0, (end - begin) * sizeof(float));
  }
  for (size_t first = 0; first < row.count; first += kLanes) {
    const size_t token = row.firstToken + first, left = row.count - first, count = left < kLanes ? left : kLanes;
    Steps steps;
    prepare(r, token, count, head, &steps);
    for (size_t column = begin; column < end; column += kPair) {
      float *to = columns(row.to, column);
      const float *from = first == 0 && row.from ? columns(row.from, column) : to;
      const bool isPair = column + kPair <= end;
      (isPair ? stepAll<2> : stepAll<1>)(r, token, count, head, column, steps, from, to);
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
