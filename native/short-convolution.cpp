// Convolutions over a few tokens.
#include "epilogue.h"
#include "states.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Sixteen channels of all sequences.
void convolve(const ShortConvolution &c, size_t channel) {
  const size_t last = c.taps - 1, inputWidth = c.channels * (c.isGated ? 3 : 1);
  F16 weights[kMaxTaps], window[kMaxTaps];
#pragma GCC unroll 1
  for (size_t tap = 0; tap < c.taps; tap++) {
    float column[kLanes];
#pragma GCC unroll 1
    for (size_t lane = 0; lane < kLanes; lane++) column[lane] = c.weights[(channel + lane) * c.taps + tap];
    weights[tap] = load(column);
  }
  const F16 bias = c.bias ? load(c.bias + channel) : zeros();
  for (size_t i = 0; i < c.states.numRows(); i++) {
    const StateRow row = c.states.row(i);
#pragma GCC unroll 1
    for (size_t tap = 0; tap < last; tap++) {
      window[tap] = row.from ? load(row.from + tap * c.channels + channel) : zeros();
    }
    for (size_t t = 0; t < row.tokens; t++) {
      const float *input = c.input + (row.firstToken + t) * inputWidth + channel;
      F16 sum = zeros();
      if (t < row.count) {
        const F16 x = load(input);
        window[last] = c.isGated ? mul(x, load(input + 2 * c.channels)) : x;
        sum = bias;
#pragma GCC unroll 1
        for (size_t tap = 0; tap < last; tap++) {
          sum = fma(weights[tap], window[tap], sum);
          window[tap] = window[tap + 1];
        }
        sum = fma(weights[last], window[last], sum);
        if (c.activation != Activation::kNone) sum = activated(c.activation, sum);
        if (c.isGated) sum = mul(sum, load(input + c.channels));
      }
      store(c.output + (row.firstToken + t) * c.channels + channel, sum);
    }
    if (!row.to) continue;
#pragma GCC unroll 1
    for (size_t tap = 0; tap < last; tap++) {
      store(row.to + tap * c.channels + channel, window[tap]);
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
