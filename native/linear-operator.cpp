// Linear8, Linear4 and LinearBlocks8: a linear layer with all that comes before and after it, see
// kernels.h.
//
// Inputs: x float [..., in_features]; weights uint8, scales float (float16 in blocks), both packed;
// optional: the norm's weights float [in_features]; bias float [pairs, 32]; residual, like the output; one
// of finds_best, see below; offsets float16 of blocks, like the scales; what adapters add (kernels.h), or
// nothing of it: [0, ...]. Output: float [rows, out_features].
// Linear4 has blocks of 64 or 32 and LinearBlocks8 of 32 or 16, as their attribute block_size says. In
// Linear8, `step` is that of x's integers (kernels.h).
//
// With the attribute finds_best: another output, int32 [rows], as of Best; and another input, int32 [],
// that is 0 where the first output is not wanted: it then has no rows.
#include <cstdlib>
#include <new>

#include "best.h"

namespace chairlift {

// 8 bits with a scale for each column, 4 bits in blocks, 8 bits in blocks.
enum class LinearKind { kColumns8, kBlocks4, kBlocks8 };

struct LinearKernel {
  const Kernels *kernels;
  size_t inFeatures, outFeatures, block;
  Activation activation;
  float epsilon;
  float step;
  bool findsBest;
  size_t ahead;
};

// Products that a task has at least, so that it costs more than to hand it out.
constexpr size_t kTaskBytes = 32768;
// Rows that a task has at most: their activations stay in the second level of the cache.
constexpr size_t kTaskRows = 128;
// Values of activations that are worth more than one thread, and that a task has at least then.
constexpr size_t kManyValues = 16384;
constexpr size_t kTaskValues = 2048;

template <LinearKind Kind>
static Status *createLinear(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t in = attribute(info, "in_features", int64_t(0));
  const int64_t out = attribute(info, "out_features", int64_t(0));
  const int64_t activation = attribute(info, "activation", int64_t(0));
  constexpr size_t kLarger = Kind == LinearKind::kBlocks8 ? kSmallBlock : kBlock;
  const int64_t block = attribute(info, "block_size", int64_t(kLarger));
  if (in < 1 || in > int64_t(kMaxFeatures)) return failure("in_features is not from 1 to 65536");
  if (out < 1 || out > 1 << 24) return failure("out_features is not from 1 to 2^24");
  if (activation < 0 || activation > 2) return failure("activation is not from 0 to 2");
  if (block != kLarger && (Kind == LinearKind::kColumns8 || block != kLarger / 2)) {
    return failure("there are no blocks of block_size");
  }
  const float step = attribute(info, "step", 0.0f);
  if (!(step >= 0.0f && step <= 1e30f)) return failure("step is not from 0 to 1e30");
  const bool findsBest = attribute(info, "finds_best", int64_t(0)) != 0;
  if (findsBest && activation != 0) return failure("the best is found of a product without activation");
  void *memory = malloc(sizeof(LinearKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) LinearKernel{&kernels(),
                                      size_t(in),
                                      size_t(out),
                                      size_t(block),
                                      Activation(activation),
                                      attribute(info, "epsilon", 1e-6f),
                                      Kind == LinearKind::kColumns8 ? step : 0.0f,
                                      findsBest,
                                      Kind == LinearKind::kColumns8 ? bytesAhead().columns : bytesAhead().blocks};
  return nullptr;
}

template <LinearKind Kind>
static Status *computeLinear(void *of, Context *context) {
  constexpr bool kIs4Bit = Kind == LinearKind::kBlocks4, kHasBlocks = Kind != LinearKind::kColumns8;
  const LinearKernel &kernel = *static_cast<LinearKernel *>(of);
  Call call(context);
  const Input x = call.input(0), weights = call.input(1), scales = call.input(2);
  const Input norm = call.input(3), bias = call.input(4), residual = call.input(5);
  const Input offsets = call.input(7), added = call.input(8);

  const size_t rows = x.bytes / sizeof(float) / kernel.inFeatures;
  Linear linear{};
  linear.columns = kernel.outFeatures;
  linear.activation = kernel.activation;
  linear.ahead = kernel.ahead;
  const size_t padded = roundUp(kernel.inFeatures, kBlock), pairs = linear.pairs();
  const size_t outputBytes = rows * kernel.outFeatures * sizeof(float);
  const size_t numScales = pairs * kPair * (kHasBlocks ? padded / kernel.block : 1);
  call.check(x.bytes == rows * kernel.inFeatures * sizeof(float), "x has no whole rows");
  call.check(weights.bytes == pairs * kPair * padded / (kIs4Bit ? 2 : 1), "weights are of another size");
  call.check(scales.bytes == numScales * (kHasBlocks ? 2 : 4), "scales are of another size");
  call.check(!norm.data || norm.bytes == kernel.inFeatures * sizeof(float), "the norm is of another size");
  call.check(!bias.data || bias.bytes == pairs * kPair * sizeof(float), "the bias is of another size");
  call.check(!residual.data || residual.bytes == outputBytes, "the residual is of another size");
  const size_t addedBytes = outputBytes * (kernel.activation == Activation::kNone ? 1 : 2);
  call.check(added.bytes == 0 || added.bytes == addedBytes, "what adapters add is of another size");
  call.check(!offsets.data || (kHasBlocks && offsets.bytes == 2 * numScales), "offsets are of another size");
  bool isWanted = true;
  int32_t *best = nullptr;
  if (kernel.findsBest) {
    const Input wanted = call.input(6);
    call.check(!residual.data, "the best is found of a product without residual");
    if (!call.check(wanted.bytes == sizeof(int32_t), "it does not say whether results are wanted")) return call.status;
    isWanted = *wanted.as<int32_t>() != 0;
    const int64_t ofRows[] = {int64_t(rows)};
    best = static_cast<int32_t *>(call.output(1, ofRows, 1));
  }
  const int64_t dims[] = {isWanted ? int64_t(rows) : 0, int64_t(kernel.outFeatures)};
  linear.output = static_cast<float *>(call.output(0, dims, 2));
  if (call.status || rows == 0) return call.status;

  Quantized &quantized = linear.input;
  quantized.padded = padded;
  quantized.block = kernel.block;
  quantized.step = kernel.step;
  const size_t forTiles = kernel.kernels->rowsForTiles;
  quantized.isTiled = forTiles > 0 && rows >= forTiles && kernel.block >= kSmallBlock && kernel.step == 0.0f;
  const size_t places = quantized.places(rows), numBlocks = places * quantized.blocks();
  Scratch scratch(Scratch::sizeOf<int8_t>(places * padded) + 2 * Scratch::sizeOf<float>(numBlocks));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return call.status;
  quantized.values = scratch.take<int8_t>(places * padded);
  quantized.scales = scratch.take<float>(numBlocks);
  quantized.sums = scratch.take<int32_t>(numBlocks);
  linear.weights = weights.as<uint8_t>();
  linear.scales = scales.data;
  linear.offsets = offsets.as<uint16_t>();
  linear.bias = bias.as<float>();
  linear.added = added.bytes == 0 ? nullptr : added.as<float>();
  linear.residual = residual.as<float>();

  const Quantization quantization{x.as<float>(), kernel.inFeatures, norm.as<float>(), kernel.epsilon, quantized};
  const size_t perTask = rows * padded < kManyValues ? rows : divideUp(kTaskValues, padded);
  call.parallel(divideUp(rows, perTask), [&](size_t task) {
    const size_t first = task * perTask, end = first + perTask;
    kernel.kernels->quantize(quantization, first, end < rows ? end : rows);
  });

  const size_t pairBytes = padded * kPair / (kIs4Bit ? 2 : 1);
  const size_t pairsPerTask = divideUp(kTaskBytes, pairBytes), pairTasks = divideUp(pairs, pairsPerTask);
  const Multiply multiply = kIs4Bit      ? kernel.kernels->linear4
                            : kHasBlocks ? kernel.kernels->linearBlocks8
                                         : kernel.kernels->linear8;
  if (!isWanted) {
    const size_t scaleBytes = kPair * (kHasBlocks ? quantized.blocks() * 2 : 4);
    findBestOfProduct(call, *kernel.kernels, multiply, linear, rows, pairBytes, scaleBytes, best);
    return call.status;
  }
  // Neighbouring tasks share their rows: one after the other reads on in the weights.
  call.parallel(divideUp(rows, kTaskRows) * pairTasks, [&](size_t task) {
    const size_t row = task / pairTasks * kTaskRows, endRow = row + kTaskRows;
    const size_t pair = task % pairTasks * pairsPerTask, endPair = pair + pairsPerTask;
    multiply(linear, row, endRow < rows ? endRow : rows, pair, endPair < pairs ? endPair : pairs);
  });
  if (best) findBest(call, *kernel.kernels, linear.output, rows, linear.columns, best);
  return call.status;
}

template <LinearKind Kind>
static constexpr CustomOp linearOperator() {
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) {
    return Kind == LinearKind::kBlocks4   ? "Linear4"
           : Kind == LinearKind::kBlocks8 ? "LinearBlocks8"
                                          : "Linear8";
  };
  op.getInputCount = [](const CustomOp *) { return size_t(9); };
  op.getInputType = [](const CustomOp *, size_t i) {
    const bool isHalf = i == 7 || (i == 2 && Kind != LinearKind::kColumns8);
    return int(i == 1 ? kUint8 : i == 6 ? kInt32 : isHalf ? kHalf : kFloat);
  };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) { return int(i < 3 ? kRequired : kOptional); };
  op.getOutputCount = [](const CustomOp *) { return size_t(2); };
  op.getOutputType = [](const CustomOp *, size_t i) { return int(i == 0 ? kFloat : kInt32); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t i) { return int(i == 0 ? kRequired : kOptional); };
  op.createKernelV2 = createLinear<Kind>;
  op.computeV2 = computeLinear<Kind>;
  return op;
}

const CustomOp kLinear8 = linearOperator<LinearKind::kColumns8>();
const CustomOp kLinear4 = linearOperator<LinearKind::kBlocks4>();
const CustomOp kLinearBlocks8 = linearOperator<LinearKind::kBlocks8>();

}  // namespace chairlift
