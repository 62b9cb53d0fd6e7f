// ShortConvolution: each channel over a token and those before it, see states.h.
//
// Inputs: x float [tokens, channels], or B, C and x [tokens, 3 channels]; weight float [channels, kernel];
// optional: bias float [channels]; then states [kernel - 1, channels], see state-groups.h.
// Outputs: float [tokens, channels], 0 for padding; the states.
#include <cstdlib>
#include <new>

#include "state-groups.h"

namespace chairlift {

struct ShortConvolutionKernel {
  const Kernels *kernels;
  size_t channels, taps;
  bool isGated;
  Activation activation;
};

constexpr size_t kFirstState = 3;

static Status *createShortConvolution(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t channels = attribute(info, "channels", int64_t(0)), taps = attribute(info, "kernel", int64_t(0));
  const int64_t activation = attribute(info, "activation", int64_t(0));
  if (channels < 1 || channels % int64_t(kLanes) != 0 || channels > int64_t(kMaxFeatures)) {
    return failure("channels are not a multiple of 16 up to 65536");
  }
  if (taps < 2 || taps > int64_t(kMaxTaps)) return failure("kernel is not from 2 to 8");
  if (activation != 0 && activation != 1) return failure("activation is neither 0 nor 1");
  void *memory = malloc(sizeof(ShortConvolutionKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory)
      ShortConvolutionKernel{&kernels(), size_t(channels), size_t(taps), attribute(info, "gated", int64_t(0)) != 0,
                             activation == 1 ? Activation::kSilu : Activation::kNone};
  return nullptr;
}

static Status *computeShortConvolution(void *of, Context *context) {
  const ShortConvolutionKernel &kernel = *static_cast<ShortConvolutionKernel *>(of);
  Call call(context);
  const Input x = call.input(0), weights = call.input(1), bias = call.input(2);
  const size_t channels = kernel.channels, bytes = channels * sizeof(float);
  call.check(weights.bytes == kernel.taps * bytes, "the weights are of another size");
  call.check(!bias.data || bias.bytes == bytes, "the bias is of another size");
  ShortConvolution task{};
  task.channels = channels;
  task.taps = kernel.taps;
  task.isGated = kernel.isGated;
  task.activation = kernel.activation;
  task.input = x.as<float>();
  task.weights = weights.as<float>();
  task.bias = bias.as<float>();
  task.states = readStates(call, kFirstState, (kernel.taps - 1) * channels);
  const size_t tokens = task.states.numTokens();
  call.check(x.bytes == tokens * bytes * (kernel.isGated ? 3 : 1), "x has not a row for each token");
  const int64_t dims[] = {int64_t(tokens), int64_t(channels)};
  task.output = static_cast<float *>(call.output(0, dims, 2));
  call.parallel(channels / kLanes, [&](size_t i) { kernel.kernels->convolve(task, i * kLanes); });
  return call.status;
}

static constexpr CustomOp shortConvolutionOperator() {
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) { return "ShortConvolution"; };
  op.getInputCount = [](const CustomOp *) { return kFirstState + 1 + kMaxGroups * kStateInputs; };
  op.getInputType = [](const CustomOp *, size_t i) { return stateInputType(kFirstState, i); };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) {
    return int(i < 2 || isStateInputRequired(kFirstState, i) ? kRequired : kOptional);
  };
  op.getOutputCount = [](const CustomOp *) { return size_t(2); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.createKernelV2 = createShortConvolution;
  op.computeV2 = computeShortConvolution;
  return op;
}

const CustomOp kShortConvolution = shortConvolutionOperator();

}  // namespace chairlift
