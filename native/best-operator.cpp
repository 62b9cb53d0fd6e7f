// Best: the index of each row's largest logit, the first one of equals; -1 where none is a finite number,
// or the largest is not. A linear layer finds it by itself if nothing is between it and the logits.
//
// Input: logits float [rows, columns], the columns being an attribute. Output: int32 [rows].
#include "best.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace chairlift {

// Values whose largest one is found without asking where it is.
constexpr size_t kStretch = 1024;
// Parts of a product whose values are written nowhere: rows and pairs of columns of a task, on its stack.
constexpr size_t kPartRows = 128, kPartPairs = 2;

static size_t placeOf(const float *values, float value) {
  size_t at = 0;
  while (values[at] != value) at++;
  return at;
}

void findBest(Call &call, const Kernels &kernels, const float *values, size_t rows, size_t columns,
              int32_t *best) {
  call.parallel(rows, [&](size_t row) {
    const float *own = values + row * columns;
    float most = -__builtin_inff();
    size_t from = 0;
    for (size_t first = 0; first < columns; first += kStretch) {
      const size_t count = columns - first < kStretch ? columns - first : kStretch;
      const float here = kernels.largestOf(own + first, count);
      if (here > most) {
        most = here;
        from = first;
      }
    }
    best[row] = __builtin_isinf(most) ? -1 : int32_t(from + placeOf(own + from, most));
  });
}

// A value and its column as one number: the larger one is of the larger value, and of equals of the first
// column. 0 stands for none.
static uint64_t rankOf(float value, size_t column) {
  value += 0.0f;  // -0 is 0
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  constexpr uint32_t kSign = 0x80000000u;
  return uint64_t(bits & kSign ? ~bits : bits | kSign) << 32 | uint32_t(~column);
}

// @param best of a row's values so far, of all tasks
static void improve(uint64_t *best, uint64_t rank) {
  uint64_t known = __atomic_load_n(best, __ATOMIC_RELAXED);
  while (known < rank && !__atomic_compare_exchange_n(best, &known, rank, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

void findBestOfProduct(Call &call, const Kernels &kernels, Multiply multiply, const Linear &linear,
                       size_t rows, size_t pairBytes, size_t scaleBytes, int32_t *best) {
  const size_t parts = divideUp(linear.pairs(), kPartPairs);
  Scratch scratch(Scratch::sizeOf<uint64_t>(rows));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return;
  uint64_t *ranks = scratch.take<uint64_t>(rows);
  memset(ranks, 0, rows * sizeof *ranks);
  call.parallel(divideUp(rows, kPartRows) * parts, [&](size_t task) {
    alignas(64) float values[kPartRows * kPartPairs * kPair];
    const size_t row = task / parts * kPartRows, count = rows - row < kPartRows ? rows - row : kPartRows;
    const size_t pair = task % parts * kPartPairs, column = pair * kPair, left = linear.columns - column;
    const size_t columns = left < kPartPairs * kPair ? left : kPartPairs * kPair;
    const Linear part = linear.part(row, pair, columns, pairBytes, scaleBytes, values);
    multiply(part, 0, count, 0, part.pairs());
    for (size_t r = 0; r < count; r++) {
      const float *own = values + r * columns, most = kernels.largestOf(own, columns);
      uint64_t *known = ranks + row + r;
      // Few of hundreds of parts are better than all before.
      if (most == -__builtin_inff() || rankOf(most, column) < __atomic_load_n(known, __ATOMIC_RELAXED)) continue;
      improve(known, rankOf(most, column + placeOf(own, most)));
    }
  });
  const uint64_t infinite = rankOf(__builtin_inff(), uint32_t(-1));
  for (size_t row = 0; row < rows; row++) {
    const bool isFinite = ranks[row] != 0 && ranks[row] < infinite;
    best[row] = isFinite ? int32_t(~uint32_t(ranks[row])) : -1;
  }
}

struct BestKernel {
  const Kernels *kernels;
  size_t columns;
};

static Status *createBest(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t columns = attribute(info, "columns", int64_t(0));
  if (columns < 1 || columns > 1 << 24) return failure("columns is not from 1 to 2^24");
  void *memory = malloc(sizeof(BestKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) BestKernel{&kernels(), size_t(columns)};
  return nullptr;
}

static Status *computeBest(void *of, Context *context) {
  const BestKernel &kernel = *static_cast<BestKernel *>(of);
  Call call(context);
  const Input logits = call.input(0);
  const size_t rows = logits.bytes / sizeof(float) / kernel.columns;
  call.check(logits.bytes == rows * kernel.columns * sizeof(float), "logits have no whole rows");
  const int64_t dims[] = {int64_t(rows)};
  int32_t *output = static_cast<int32_t *>(call.output(0, dims, 1));
  if (!call.status) findBest(call, *kernel.kernels, logits.as<float>(), rows, kernel.columns, output);
  return call.status;
}

static constexpr CustomOp bestOperator() {
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) { return "Best"; };
  op.getInputCount = [](const CustomOp *) { return size_t(1); };
  op.getInputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getInputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.getOutputCount = [](const CustomOp *) { return size_t(1); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kInt32); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.createKernelV2 = createBest;
  op.computeV2 = computeBest;
  return op;
}

const CustomOp kBest = bestOperator();

}  // namespace chairlift
