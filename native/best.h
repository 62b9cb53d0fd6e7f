// Column of each row that has the largest value, see best-operator.cpp.
#pragma once

#include "kernels.h"
#include "runtime.h"

namespace chairlift {

// One of the kernels of linear layers.
using Multiply = void (*)(const Linear &, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair);

// The first column with the largest of its row's values [rows, columns]; -1 where none is a finite number,
// or the largest is not.
void findBest(Call &, const Kernels &, const float *values, size_t rows, size_t columns, int32_t *best);

// The same of the values that a product without activation and residual would have. They are written
// nowhere: a part of some rows and columns is looked at while it is in the cache.
void findBestOfProduct(Call &, const Kernels &, Multiply, const Linear &, size_t rows, size_t pairBytes,
                       size_t scaleBytes, int32_t *best);

}  // namespace chairlift
