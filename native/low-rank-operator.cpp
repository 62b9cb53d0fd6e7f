// LowRank: what adapters add to a linear layer, which takes it before its gate; see kernels.h.
//
// Inputs: x float [rows, in_features]; mask float [rows, slots], how much of each slot's adapter a row has,
// of which it takes the first that is not 0; pool uint8 [slots, bytes]; optional: the norm's weights float
// [in_features]. Output: float [rows, columns], or [0, columns] where no row has an adapter.
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels.h"
#include "runtime.h"

namespace chairlift {

struct LowRankKernel {
  const Kernels *kernels;
  LowRankShape shape;
  float epsilon;
};

// Rows of a task that reduces: those of the largest tile.
constexpr size_t kReducedRows = 4;
// Halves of B that a task reads at least, of all adapters.
constexpr size_t kTaskHalves = 16384;

static Status *createLowRank(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t in = attribute(info, "in_features", int64_t(0));
  const int64_t rank = attribute(info, "max_rank", int64_t(0));
  const char *const names[kMaxParts] = {"columns", "second_columns", "third_columns"};
  if (in < 1 || in > int64_t(kMaxFeatures)) return failure("in_features is not from 1 to 65536");
  if (rank < 1 || rank > 65536) return failure("max_rank is not from 1 to 65536");
  LowRankShape shape{};
  shape.features = size_t(in);
  shape.paddedRank = roundUp(size_t(rank), kLanes);
  for (; shape.parts < kMaxParts; shape.parts++) {
    const int64_t columns = attribute(info, names[shape.parts], int64_t(0));
    if (shape.parts > 0 && columns == 0) break;
    if (columns < 1 || columns > 1 << 24) return failure("columns are not from 1 to 2^24");
    shape.partColumns[shape.parts] = size_t(columns);
  }
  void *memory = malloc(sizeof(LowRankKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) LowRankKernel{&kernels(), shape, attribute(info, "epsilon", 1e-6f)};
  return nullptr;
}

// Puts rows of the same slot together, those without an adapter last. Returns how many have one.
static size_t sortRows(LowRank &task, const float *mask, size_t rows, size_t *slotOf, size_t *starts, size_t *order,
                       float *scales) {
  const size_t slots = task.numSlots;
  memset(starts, 0, (slots + 2) * sizeof *starts);
  for (size_t row = 0; row < rows; row++) {
    size_t slot = 0;
    while (slot < slots && mask[row * slots + slot] == 0.0f) slot++;
    slotOf[row] = slot;
    starts[slot + 1]++;
  }
  for (size_t slot = 0; slot <= slots; slot++) starts[slot + 1] += starts[slot];
  // Counts on each slot's start, and puts it back.
  for (size_t row = 0; row < rows; row++) {
    const size_t slot = slotOf[row], at = starts[slot]++;
    order[at] = row;
    scales[at] = slot < slots ? mask[row * slots + slot] : 0.0f;
  }
  for (size_t slot = slots + 1; slot > 0; slot--) starts[slot] = starts[slot - 1];
  starts[0] = 0;
  task.rows = order;
  task.starts = starts;
  task.scales = scales;
  return starts[slots];
}

static bool hasAny(const float *mask, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (mask[i] != 0.0f) return true;
  }
  return false;
}

static Status *computeLowRank(void *of, Context *context) {
  const LowRankKernel &kernel = *static_cast<LowRankKernel *>(of);
  const LowRankShape &shape = kernel.shape;
  Call call(context);
  const Input x = call.input(0), mask = call.input(1), pool = call.input(2), norm = call.input(3);
  const size_t rows = x.bytes / sizeof(float) / shape.features, slots = pool.bytes / shape.slotBytes();
  call.check(x.bytes == rows * shape.features * sizeof(float), "x has no whole rows");
  call.check(pool.bytes == slots * shape.slotBytes(), "the pool has no whole slots");
  call.check(mask.bytes == rows * slots * sizeof(float), "the mask is of another size");
  call.check(!norm.data || norm.bytes == shape.features * sizeof(float), "the norm is of another size");
  const bool isLive = !call.status && hasAny(mask.as<float>(), rows * slots);
  const int64_t dims[] = {isLive ? int64_t(rows) : 0, int64_t(shape.columns())};
  float *output = static_cast<float *>(call.output(0, dims, 2));
  if (call.status || !isLive) return call.status;

  LowRank task{};
  task.shape = &shape;
  task.input = x.as<float>();
  task.norm = norm.as<float>();
  task.epsilon = kernel.epsilon;
  task.pool = pool.as<uint8_t>();
  task.numSlots = slots;
  task.output = output;
  Scratch scratch(2 * Scratch::sizeOf<size_t>(rows) + Scratch::sizeOf<size_t>(slots + 2) +
                  Scratch::sizeOf<float>(rows) + Scratch::sizeOf<float>(rows * shape.width()) +
                  Scratch::sizeOf<float>(rows * shape.features));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return call.status;
  size_t *slotOf = scratch.take<size_t>(rows), *order = scratch.take<size_t>(rows);
  size_t *starts = scratch.take<size_t>(slots + 2);
  sortRows(task, mask.as<float>(), rows, slotOf, starts, order, scratch.take<float>(rows));
  task.reduced = scratch.take<float>(rows * shape.width());
  task.gathered = scratch.take<float>(rows * shape.features);

  size_t tasks = 0, halves = 0;
  for (size_t slot = 0; slot < slots; slot++) {
    if (starts[slot] == starts[slot + 1]) continue;
    tasks += divideUp(starts[slot + 1] - starts[slot], kReducedRows);
    for (size_t part = 0; part < shape.parts; part++) {
      if (!call.check(task.rank(slot, part) <= shape.paddedRank, "a rank is above max_rank")) return call.status;
      halves += task.rank(slot, part) * kPair;
    }
  }
  call.parallel(tasks, [&](size_t index) {
    size_t slot = 0;
    for (;; slot++) {
      const size_t own = divideUp(starts[slot + 1] - starts[slot], kReducedRows);
      if (index < own) break;
      index -= own;
    }
    const size_t first = starts[slot] + index * kReducedRows, end = first + kReducedRows;
    kernel.kernels->lowRankReduce(task, slot, first, end < starts[slot + 1] ? end : starts[slot + 1]);
  });

  // Halves of a pair of columns, of a part as of another.
  const size_t perPair = halves / shape.parts + 1, pairsPerTask = divideUp(kTaskHalves, perPair);
  size_t tasksOf[kMaxParts], all = 0;
  for (size_t part = 0; part < shape.parts; part++) {
    all += tasksOf[part] = divideUp(shape.pairs(part), pairsPerTask);
  }
  call.parallel(all, [&](size_t index) {
    size_t part = 0;
    for (; index >= tasksOf[part]; part++) index -= tasksOf[part];
    const size_t first = index * pairsPerTask, end = first + pairsPerTask;
    kernel.kernels->lowRankExpand(task, part, first, end < shape.pairs(part) ? end : shape.pairs(part));
  });
  return call.status;
}

static constexpr CustomOp lowRankOperator() {
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) { return "LowRank"; };
  op.getInputCount = [](const CustomOp *) { return size_t(4); };
  op.getInputType = [](const CustomOp *, size_t i) { return int(i == 2 ? kUint8 : kFloat); };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) { return int(i < 3 ? kRequired : kOptional); };
  op.getOutputCount = [](const CustomOp *) { return size_t(1); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.createKernelV2 = createLowRank;
  op.computeV2 = computeLowRank;
  return op;
}

const CustomOp kLowRank = lowRankOperator();

}  // namespace chairlift
