// Rows of activations as 8-bit integers, after an RMS normalization if there is one.
#include "integers.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Factor of a normalized row: 1 over the root of its mean square.
static inline float normFactor(const float *row, size_t features, float epsilon) {
  F16 squares = zeros();
  for (size_t column = 0; column < features; column += kLanes) {
    const F16 x = loadSome(row + column, features - column);
    squares = fma(x, x, squares);
  }
  return 1.0f / __builtin_sqrtf(sum(squares) / float(features) + epsilon);
}

// How a row becomes integers: each block by its own scale, or all by one step.
enum class Scaling { kBlock, kStep };

// A block of a row, from `x` on, times the norm's weights if there are any. Returns the sum of its integers in lanes.
// @param step between four values and those that come next
template <size_t Block, Scaling S>
static inline I16 quantizeBlock(const float *x, const float *norm, float factor, int8_t *values, size_t step,
                                float *scale) {
  constexpr size_t kVectors = Block / kLanes;
  F16 all[kVectors];
  I16 most = splatInt(0);
  for (size_t v = 0; v < kVectors; v++) {
    all[v] = load(x + v * kLanes);
    if (norm) all[v] = mul(all[v], load(norm + v * kLanes));
    if constexpr (S == Scaling::kBlock) most = largerMagnitude(most, all[v]);
  }
  F16 inverse = splat(factor);
  if constexpr (S == Scaling::kBlock) {
    const IntegerScale of = integerScale(most);
    // The scale takes the norm's factor: it need not be multiplied into every value.
    *scale = of.scale * factor;
    inverse = splat(of.inverse);
  }
  I16 total = splatInt(0);
  alignas(64) int8_t bytes[Block];
  for (size_t v = 0; v < kVectors; v++) {
    const I16 integers = toIntegers(all[v], inverse);
    storeBytes(bytes + v * kLanes, integers);
    total = addInt(total, integers);
  }
  if (step == 4) {
    memcpy(values, bytes, Block);
    return total;
  }
  for (size_t i = 0; i < Block; i += 4, values += step) memcpy(values, bytes + i, 4);
  return total;
}

template <size_t Block, Scaling S>
static inline void quantizeRow(const Quantization &q, size_t row) {
  const Quantized &out = q.output;
  const float *x = q.input + row * q.features;
  float factor = q.norm ? normFactor(x, q.features, q.epsilon) : 1.0f;
  if (S == Scaling::kStep) factor = factor / out.step;
  // Rest after the last whole block, with zeros after it.
  const size_t whole = q.features / Block * Block, bytes = (q.features - whole) * sizeof(float);
  float rest[kBlock] = {}, restOfNorm[kBlock] = {};
  memcpy(rest, x + whole, bytes);
  if (q.norm) memcpy(restOfNorm, q.norm + whole, bytes);
  const size_t step = out.isTiled ? 4 : Quantized::kStep;
  int8_t *values = out.valuesOf(row);
  size_t at = out.scaleOf(row);
  I16 ofRow = splatInt(0);
  for (size_t first = 0; first < out.padded; first += Block) {
    const bool isWhole = first < whole;
    const float *block = isWhole ? x + first : rest + (first - whole);
    const float *norm = isWhole ? q.norm + (q.norm ? first : 0) : restOfNorm + (first - whole);
    if (out.isTiled) values = out.tiledOf(row, first);
    const I16 total = quantizeBlock<Block, S>(block, q.norm ? norm : nullptr, factor, values, step, out.scales + at);
    values += Block / 4 * Quantized::kStep;
    if constexpr (S == Scaling::kStep) {
      ofRow = addInt(ofRow, total);
    } else {
      out.sums[at] = sumInt(total);
      at += kRowGroup;
    }
  }
  if (S == Scaling::kStep) out.sums[at] = sumInt(ofRow);
}

template <size_t Block, Scaling S>
static void quantizeRows(const Quantization &q, size_t firstRow, size_t endRow) {
  for (size_t row = firstRow; row < endRow; row++) quantizeRow<Block, S>(q, row);
}

void quantize(const Quantization &q, size_t firstRow, size_t endRow) {
  if (q.output.step != 0.0f) return quantizeRows<kBlock, Scaling::kStep>(q, firstRow, endRow);
  if (q.output.block == kBlock) return quantizeRows<kBlock, Scaling::kBlock>(q, firstRow, endRow);
  if (q.output.block == kSmallBlock) return quantizeRows<kSmallBlock, Scaling::kBlock>(q, firstRow, endRow);
  quantizeRows<kSmallestBlock, Scaling::kBlock>(q, firstRow, endRow);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
