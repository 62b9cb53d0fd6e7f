// Rows of activations as 8-bit integers, after an RMS normalization if there is one.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Values so small that the inverse of their scale is not a number count as zeros.
constexpr float kSmallest = 1e-30f;

// x, or x times the norm's weights, from `column` on.
static inline F16 weighted(const Quantization &q, const float *row, size_t column) {
  const size_t count = q.features - column;
  const F16 x = loadSome(row + column, count);
  return q.norm ? mul(x, loadSome(q.norm + column, count)) : x;
}

// What a normalized row is multiplied by: 1 over the root of its mean square.
static inline float normFactor(const float *row, size_t features, float epsilon) {
  F16 squares = zeros();
  for (size_t column = 0; column < features; column += kLanes) {
    const F16 x = loadSome(row + column, features - column);
    squares = fma(x, x, squares);
  }
  return 1.0f / __builtin_sqrtf(sum(squares) / float(features) + epsilon);
}

// The scale takes the norm's factor: it need not be multiplied into every value.
static void quantizeBlock(const Quantization &q, const float *row, size_t first, float factor,
                          int8_t *values, float *scale, int32_t *sumOfValues) {
  const size_t end = first + q.output.block;
  const size_t filled = end < q.features ? end : q.features;
  I16 most = splatInt(0);
  for (size_t column = first; column < filled; column += kLanes) {
    most = largerMagnitude(most, weighted(q, row, column));
  }
  const int32_t bits = largestInt(most);
  float magnitude;
  memcpy(&magnitude, &bits, sizeof magnitude);
  const bool isZero = magnitude < kSmallest;
  const F16 inverse = splat(isZero ? 0.0f : 127.0f / magnitude);
  *scale = isZero ? 0.0f : magnitude * factor / 127.0f;
  I16 total = splatInt(0);
  size_t column = first;
  for (; column < filled; column += kLanes) {
    // What is not a number must not reach the conversion: its scale is not a number either.
    const F16 scaled = larger(mul(weighted(q, row, column), inverse), splat(-127.0f));
    const I16 integers = toInt(smaller(scaled, splat(127.0f)));
    storeBytes(values + column, integers);
    total = addInt(total, integers);
  }
  for (; column < end; column += kLanes) storeBytes(values + column, splatInt(0));
  *sumOfValues = sumInt(total);
}

void quantize(const Quantization &q, size_t firstRow, size_t endRow) {
  const Quantized &out = q.output;
  for (size_t row = firstRow; row < endRow; row++) {
    const float *x = q.input + row * q.features;
    const float factor = q.norm ? normFactor(x, q.features, q.epsilon) : 1.0f;
    for (size_t block = 0; block < out.blocks(); block++) {
      const size_t at = row * out.blocks() + block;
      quantizeBlock(q, x, block * out.block, factor, out.values + row * out.padded, out.scales + at,
                    out.sums + at);
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
