// Steps after a product, of some rows and one pair of sixteen columns: bias, adapters, gate, residual.
#pragma once

#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

static inline F16 activated(Activation activation, F16 x) {
  const F16 one = splat(1.0f);
  if (activation == Activation::kSilu) {
    return divide(x, add(one, exponential(sub(zeros(), x))));
  }
  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  const F16 cubed = mul(mul(x, x), x);
  const F16 inner = mul(splat(0.79788456f), fma(splat(0.044715f), cubed, x));
  return mul(mul(splat(0.5f), x), add(one, hyperbolicTangent(inner)));
}

static inline void storeColumns(const Linear &linear, size_t row, size_t column, F16 values) {
  if (column >= linear.columns) return;
  const size_t at = row * linear.columns + column;
  const size_t count = linear.columns - column;
  if (linear.residual) values = add(values, loadSome(linear.residual + at, count));
  storeSome(linear.output + at, values, count);
}

static inline F16 withAdded(F16 values, const float *added, size_t column, size_t columns) {
  return column < columns ? add(values, loadSome(added + column, columns - column)) : values;
}

static inline void finishRow(const Linear &linear, size_t row, size_t pair, F16 first, F16 second) {
  const bool isGated = linear.activation != Activation::kNone;
  if (linear.bias) {
    first = add(first, load(linear.bias + pair * kPair));
    second = add(second, load(linear.bias + pair * kPair + kLanes));
  }
  if (linear.added) {
    const size_t columns = linear.columns, column = pair * (isGated ? kLanes : kPair);
    const float *added = linear.added + row * columns * (isGated ? 2 : 1);
    first = withAdded(first, added, column, columns);
    second = isGated ? withAdded(second, added + columns, column, columns)
                     : withAdded(second, added, column + kLanes, columns);
  }
  if (isGated) {
    storeColumns(linear, row, pair * kLanes, mul(activated(linear.activation, first), second));
    return;
  }
  storeColumns(linear, row, pair * kPair, first);
  storeColumns(linear, row, pair * kPair + kLanes, second);
}

// Not inline, or else the library would have it for every kind of tile.
static __attribute__((noinline, noclone)) void finishTile(const Linear &linear, size_t firstRow, size_t rows,
                                                          size_t pair, const F16 (*products)[2]) {
  for (size_t r = 0; r < rows; r++) finishRow(linear, firstRow + r, pair, products[r][0], products[r][1]);
}

// Asks for the memory of outputs so large that none of it is in the cache: a tile's results wait for it.
static inline void askForOutputs(const Linear &linear, size_t firstRow, size_t endRow, size_t pair) {
  const size_t columns = linear.activation == Activation::kNone ? kPair : kLanes;
  const float *outputs = linear.output + pair * columns;
  for (size_t row = firstRow; row < endRow; row++) {
    for (size_t column = 0; column < columns; column += kLanes) prefetch(outputs + row * linear.columns + column);
  }
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
