// LowRank, computed without vectors, tiles and threads.
#pragma once

#include <cmath>

#include "../half.h"
#include "../kernels.h"

namespace chairlift {

// Whether an output [rows, columns] is what a row's adapter adds, up to rounding.
static bool lowRankIsRight(const LowRankShape &shape, const float *x, const float *mask, const uint8_t *pool,
                           size_t slots, const float *norm, float epsilon, size_t rows, const float *output) {
  for (size_t row = 0; row < rows; row++) {
    const float *values = x + row * shape.features;
    double squares = 0;
    for (size_t i = 0; i < shape.features; i++) squares += double(values[i]) * values[i];
    const double factor = norm ? 1 / std::sqrt(squares / double(shape.features) + epsilon) : 1;
    size_t slot = 0;
    while (slot < slots && mask[row * slots + slot] == 0) slot++;
    for (size_t part = 0; part < shape.parts; part++) {
      for (size_t column = 0; column < shape.partColumns[part]; column++) {
        double expected = 0, most = 0;
        uint32_t rank = 0;
        const uint8_t *own = pool + slot * shape.slotBytes();
        if (slot < slots) memcpy(&rank, own + 4 * part, sizeof rank);
        const uint16_t *halves = reinterpret_cast<const uint16_t *>(own + LowRankShape::kRanksBytes);
        for (size_t k = 0; k < rank; k++) {
          const uint16_t *down = halves + shape.firstDown(part) + k / 16 * 16 * shape.features + k % 16;
          const uint16_t *up = halves + shape.firstUp(part) + column / 32 * 32 * shape.paddedRank + column % 32;
          for (size_t i = 0; i < shape.features; i++) {
            const double weight = norm ? factor * norm[i] : 1;
            const double product = values[i] * weight * fromHalf(down[16 * i]) * fromHalf(up[32 * k]);
            expected += product * mask[row * slots + slot];
            most += std::fabs(product * mask[row * slots + slot]);
          }
        }
        const float actual = output[row * shape.columns() + shape.firstColumn(part) + column];
        if (!(std::fabs(actual - expected) <= 1e-5 * most)) return false;
        // Sums without an adapter leave -0 as it is.
        if (rank == 0 && !std::signbit(actual)) return false;
      }
    }
  }
  return true;
}

}  // namespace chairlift
