// Rows of activations as 8-bit integers, after an RMS normalization if there is one.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Values so small that the inverse of their scale is not a number count as zeros.
constexpr float kSmallest = 1e-30f;
constexpr float kLargestByte = 127.0f;

// What turns values into bytes, and what turns bytes back into values.
struct ByteScale {
  float inverse, scale;
};

// By the largest magnitude among values, in lanes of bits.
static inline ByteScale byteScale(I16 most) {
  const int32_t bits = largestInt(most);
  float magnitude;
  memcpy(&magnitude, &bits, sizeof magnitude);
  if (magnitude < kSmallest) return {0.0f, 0.0f};
  return {kLargestByte / magnitude, magnitude / kLargestByte};
}

static inline I16 toBytes(F16 x, F16 inverse) {
  // What is not a number must not reach the conversion: its scale is not a number either.
  return toInt(smaller(larger(mul(x, inverse), splat(-kLargestByte)), splat(kLargestByte)));
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

// A block of a row from `column` on, times the norm's weights; zeros after the row's end.
static inline F16 weighted(const Quantization &q, const float *row, size_t column) {
  if (column >= q.features) return zeros();
  const size_t count = q.features - column;
  const F16 x = loadSome(row + column, count);
  return q.norm ? mul(x, loadSome(q.norm + column, count)) : x;
}

constexpr size_t kVectors = kBlock / kLanes;

// Stores a block of values times `inverse`. Returns the sum in lanes.
static inline I16 storeBlock(const F16 (&x)[kVectors], F16 inverse, int8_t *values) {
  I16 total = splatInt(0);
  alignas(64) int8_t bytes[kBlock];
  for (size_t v = 0; v < kVectors; v++) {
    const I16 integers = toBytes(x[v], inverse);
    storeBytes(bytes + v * kLanes, integers);
    total = addInt(total, integers);
  }
  for (size_t i = 0; i < kBlock; i += 4, values += Quantized::kStep) memcpy(values, bytes + i, 4);
  return total;
}

// The scale takes the norm's factor: it need not be multiplied into every value.
static inline void quantizeBlock(const Quantization &q, const float *row, size_t first, float factor,
                                 int8_t *values, float *scale, int32_t *sumOfValues) {
  F16 x[kVectors];
  I16 most = splatInt(0);
  for (size_t v = 0; v < kVectors; v++) {
    x[v] = weighted(q, row, first + v * kLanes);
    most = largerMagnitude(most, x[v]);
  }
  const ByteScale of = byteScale(most);
  *scale = of.scale * factor;
  *sumOfValues = sumInt(storeBlock(x, splat(of.inverse), values));
}

// A whole row by the same step. Returns its sum.
static inline int32_t quantizeRow(const Quantization &q, const float *row, float factor, int8_t *values) {
  const F16 inverse = splat(factor / q.output.step);
  I16 total = splatInt(0);
  for (size_t first = 0; first < q.output.padded; first += kBlock) {
    F16 x[kVectors];
    for (size_t v = 0; v < kVectors; v++) x[v] = weighted(q, row, first + v * kLanes);
    total = addInt(total, storeBlock(x, inverse, values));
    values += kBlock / 4 * Quantized::kStep;
  }
  return sumInt(total);
}

void quantize(const Quantization &q, size_t firstRow, size_t endRow) {
  const Quantized &out = q.output;
  for (size_t row = firstRow; row < endRow; row++) {
    const float *x = q.input + row * q.features;
    const float factor = q.norm ? normFactor(x, q.features, q.epsilon) : 1.0f;
    int8_t *values = out.valuesOf(row);
    size_t at = out.scaleOf(row);
    if (out.step != 0.0f) {
      out.sums[at] = quantizeRow(q, x, factor, values);
      continue;
    }
    for (size_t first = 0; first < out.padded; first += kBlock) {
      quantizeBlock(q, x, first, factor, values, out.scales + at, out.sums + at);
      values += kBlock / 4 * Quantized::kStep;
      at += kRowGroup;
    }
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
