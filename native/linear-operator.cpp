// Linear8 and Linear4: a linear layer with all that comes before and after it, see kernels.h.
//
// Inputs: x float [..., in_features]; weights uint8, scales float (float16 with 4 bits), both packed;
// optional: the norm's weights float [in_features]; bias float [pairs, 32]; residual, like the output.
// Output: float [rows, out_features]. With 8 bits, `step` is that of x's integers (kernels.h).
#include <cstdlib>
#include <new>

#include "kernels.h"
#include "runtime.h"

namespace chairlift {

struct LinearKernel {
  const Kernels *kernels;
  size_t inFeatures, outFeatures;
  Activation activation;
  float epsilon;
  float step;
};

// Products that a task has at least, so that it costs more than to hand it out.
constexpr size_t kTaskBytes = 32768;
// Rows that a task has at most: their activations stay in the second level of the cache.
constexpr size_t kTaskRows = 128;
// Values of activations that are worth a task.
constexpr size_t kTaskValues = 8192;

static Status *createLinear(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t in = attribute(info, "in_features", int64_t(0));
  const int64_t out = attribute(info, "out_features", int64_t(0));
  const int64_t activation = attribute(info, "activation", int64_t(0));
  if (in < 1 || in > int64_t(kMaxFeatures)) return failure("in_features is not from 1 to 65536");
  if (out < 1 || out > 1 << 24) return failure("out_features is not from 1 to 2^24");
  if (activation < 0 || activation > 2) return failure("activation is not from 0 to 2");
  const float step = attribute(info, "step", 0.0f);
  if (!(step >= 0.0f && step <= 1e30f)) return failure("step is not from 0 to 1e30");
  void *memory = malloc(sizeof(LinearKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) LinearKernel{&kernels(), size_t(in), size_t(out), Activation(activation),
                                      attribute(info, "epsilon", 1e-6f), step};
  return nullptr;
}

template <bool Is4Bit>
static Status *computeLinear(void *of, Context *context) {
  const LinearKernel &kernel = *static_cast<LinearKernel *>(of);
  Call call(context);
  const Input x = call.input(0), weights = call.input(1), scales = call.input(2);
  const Input norm = call.input(3), bias = call.input(4), residual = call.input(5);

  const size_t rows = x.bytes / sizeof(float) / kernel.inFeatures;
  Linear linear{};
  linear.columns = kernel.outFeatures;
  linear.activation = kernel.activation;
  const size_t padded = roundUp(kernel.inFeatures, kBlock), pairs = linear.pairs();
  const size_t outputBytes = rows * kernel.outFeatures * sizeof(float);
  const size_t numScales = pairs * kPair * (Is4Bit ? padded / kBlock : 1);
  call.check(x.bytes == rows * kernel.inFeatures * sizeof(float), "x has no whole rows");
  call.check(weights.bytes == pairs * kPair * padded / (Is4Bit ? 2 : 1), "weights are of another size");
  call.check(scales.bytes == numScales * (Is4Bit ? 2 : 4), "scales are of another size");
  call.check(!norm.data || norm.bytes == kernel.inFeatures * sizeof(float), "the norm is of another size");
  call.check(!bias.data || bias.bytes == pairs * kPair * sizeof(float), "the bias is of another size");
  call.check(!residual.data || residual.bytes == outputBytes, "the residual is of another size");
  const int64_t dims[] = {int64_t(rows), int64_t(kernel.outFeatures)};
  linear.output = static_cast<float *>(call.output(0, dims, 2));
  if (call.status || rows == 0) return call.status;

  Quantized &quantized = linear.input;
  quantized.padded = padded;
  quantized.step = Is4Bit ? 0.0f : kernel.step;
  const size_t places = roundUp(rows, kRowGroup), numBlocks = places * quantized.blocks();
  Scratch scratch(Scratch::sizeOf<int8_t>(places * padded) + 2 * Scratch::sizeOf<float>(numBlocks));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return call.status;
  quantized.values = scratch.take<int8_t>(places * padded);
  quantized.scales = scratch.take<float>(numBlocks);
  quantized.sums = scratch.take<int32_t>(numBlocks);
  linear.weights = weights.as<uint8_t>();
  linear.scales = scales.data;
  linear.bias = bias.as<float>();
  linear.residual = residual.as<float>();

  const Quantization quantization{x.as<float>(), kernel.inFeatures, norm.as<float>(), kernel.epsilon, quantized};
  const size_t perTask = divideUp(kTaskValues, padded);
  call.parallel(divideUp(rows, perTask), [&](size_t task) {
    const size_t first = task * perTask, end = first + perTask;
    kernel.kernels->quantize(quantization, first, end < rows ? end : rows);
  });

  const size_t pairBytes = padded * kPair / (Is4Bit ? 2 : 1);
  const size_t pairsPerTask = divideUp(kTaskBytes, pairBytes), pairTasks = divideUp(pairs, pairsPerTask);
  const auto multiply = Is4Bit ? kernel.kernels->linear4 : kernel.kernels->linear8;
  // Neighbouring tasks share their rows: one after the other reads on in the weights.
  call.parallel(divideUp(rows, kTaskRows) * pairTasks, [&](size_t task) {
    const size_t row = task / pairTasks * kTaskRows, endRow = row + kTaskRows;
    const size_t pair = task % pairTasks * pairsPerTask, endPair = pair + pairsPerTask;
    multiply(linear, row, endRow < rows ? endRow : rows, pair, endPair < pairs ? endPair : pairs);
  });
  return call.status;
}

static void destroyLinear(void *kernel) { free(kernel); }

template <bool Is4Bit>
static constexpr CustomOp linearOperator() {
  CustomOp op{};
  op.version = kApiVersion;
  op.getName = [](const CustomOp *) { return Is4Bit ? "Linear4" : "Linear8"; };
  op.getProvider = [](const CustomOp *) { return "CPUExecutionProvider"; };
  op.getInputCount = [](const CustomOp *) { return size_t(6); };
  op.getInputType = [](const CustomOp *, size_t i) {
    return int(i == 1 ? kUint8 : i == 2 && Is4Bit ? kHalf : kFloat);
  };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) { return int(i < 3 ? kRequired : kOptional); };
  op.getOutputCount = [](const CustomOp *) { return size_t(1); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.getInputMemoryType = [](const CustomOp *, size_t) { return 0; };
  op.getVariadicInputMinArity = op.getVariadicOutputMinArity = [](const CustomOp *) { return 1; };
  op.getVariadicInputHomogeneity = op.getVariadicOutputHomogeneity = [](const CustomOp *) { return 1; };
  op.getStartVersion = [](const CustomOp *) { return 1; };
  op.getEndVersion = [](const CustomOp *) { return 1; };
  op.createKernelV2 = createLinear;
  op.computeV2 = computeLinear<Is4Bit>;
  op.destroy = destroyLinear;
  return op;
}

const CustomOp kLinear8 = linearOperator<false>();
const CustomOp kLinear4 = linearOperator<true>();

}  // namespace chairlift
