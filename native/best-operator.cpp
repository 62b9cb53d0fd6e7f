// Best: the index of each row's largest logit, the first one of equals; -1 where none is a finite number,
// or the largest is not.
//
// Input: logits float [rows, columns], the columns being an attribute. Output: int32 [rows].
#include <cstdlib>
#include <new>

#include "kernels.h"
#include "runtime.h"

namespace chairlift {

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
  call.parallel(rows, [&](size_t row) {
    output[row] = kernel.kernels->best(logits.as<float>() + row * kernel.columns, kernel.columns);
  });
  return call.status;
}

static constexpr CustomOp bestOperator() {
  CustomOp op{};
  op.version = kApiVersion;
  op.getName = [](const CustomOp *) { return "Best"; };
  op.getProvider = [](const CustomOp *) { return "CPUExecutionProvider"; };
  op.getInputCount = [](const CustomOp *) { return size_t(1); };
  op.getInputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getInputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.getOutputCount = [](const CustomOp *) { return size_t(1); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kInt32); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.getInputMemoryType = [](const CustomOp *, size_t) { return 0; };
  op.getVariadicInputMinArity = op.getVariadicOutputMinArity = [](const CustomOp *) { return 1; };
  op.getVariadicInputHomogeneity = op.getVariadicOutputHomogeneity = [](const CustomOp *) { return 1; };
  op.getStartVersion = [](const CustomOp *) { return 1; };
  op.getEndVersion = [](const CustomOp *) { return 1; };
  op.createKernelV2 = createBest;
  op.computeV2 = computeBest;
  op.destroy = [](void *kernel) { free(kernel); };
  return op;
}

const CustomOp kBest = bestOperator();

}  // namespace chairlift
