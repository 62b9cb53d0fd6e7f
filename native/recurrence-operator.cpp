// GatedDelta and SelectiveScan: states that are a matrix of each head, see states.h.
//
// Inputs: packed float [tokens, width], after the convolution: of GatedDelta queries and keys [key_heads,
// key_dim] and values [num_heads, value_dim], of SelectiveScan x [num_heads, head_dim], B and C [num_groups,
// state_size]; gates float, of GatedDelta b and a [tokens, 2 num_heads], of SelectiveScan dt [tokens, num_heads],
// as products give them; decay float [num_heads], -exp(A_log); dt_bias float [num_heads]; of SelectiveScan D float
// [num_heads]; then states, see state-groups.h. Where GatedDelta's dt_bias is [num_heads, key_dim], a is, too: each
// dimension of keys decays by itself, as in Kimi Delta Attention.
// Outputs: float [tokens, values], 0 for padding; the states.
#include <cstdlib>
#include <new>

#include "state-groups.h"

namespace chairlift {

struct RecurrenceKernel {
  const Kernels *kernels;
  Recurrence shape;
};

constexpr size_t firstState(bool isDelta) { return isDelta ? 4 : 5; }
// With fewer tasks than this, those of a head are split.
constexpr size_t kManyTasks = 32;
constexpr int64_t kMaxHeads = 4096;

static bool isDim(int64_t dim) { return dim >= 1 && dim % int64_t(kLanes) == 0 && dim <= int64_t(kMaxStateDim); }

static Status *createRecurrence(const CustomOp *op, const void *, const Info *info, void **kernel) {
  const bool isDelta = op == &kGatedDelta;
  const int64_t heads = attribute(info, "num_heads", int64_t(0));
  const int64_t keyHeads = attribute(info, isDelta ? "key_heads" : "num_groups", int64_t(0));
  const int64_t keyDim = attribute(info, isDelta ? "key_dim" : "state_size", int64_t(0));
  const int64_t valueDim = attribute(info, isDelta ? "value_dim" : "head_dim", int64_t(0));
  if (keyHeads < 1 || heads < keyHeads || heads > kMaxHeads || heads % keyHeads != 0) {
    return failure("num_heads is not a multiple of those of keys, up to 4096");
  }
  if (!isDim(keyDim) || !isDim(valueDim)) return failure("a dimension is not a multiple of 16 up to 256");
  Recurrence shape{};
  shape.isDelta = isDelta;
  shape.heads = size_t(heads);
  shape.keyHeads = size_t(keyHeads);
  shape.keyDim = size_t(keyDim);
  shape.valueDim = size_t(valueDim);
  shape.least = attribute(info, "dt_min", 0.0f);
  shape.most = attribute(info, "dt_max", __builtin_inff());
  void *memory = malloc(sizeof(RecurrenceKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) RecurrenceKernel{&kernels(), shape};
  return nullptr;
}

static Status *computeRecurrence(void *of, Context *context) {
  const RecurrenceKernel &kernel = *static_cast<RecurrenceKernel *>(of);
  Recurrence task = kernel.shape;
  Call call(context);
  const Input packed = call.input(0), gates = call.input(1), decay = call.input(2), bias = call.input(3);
  const Input skip = task.isDelta ? Input{} : call.input(4);
  const size_t heads = task.heads, perHead = heads * sizeof(float);
  task.rates = task.isDelta && bias.bytes == perHead * task.keyDim ? task.keyDim : 1;
  call.check(decay.bytes == perHead && bias.bytes == perHead * task.rates && (task.isDelta || skip.bytes == perHead),
             "there is not a decay, a bias and a D for each head");
  task.packed = packed.as<float>();
  task.gates = gates.as<float>();
  task.decay = decay.as<float>();
  task.bias = bias.as<float>();
  task.skip = skip.as<float>();
  task.states = readStates(call, firstState(task.isDelta), heads * task.keyDim * task.valueDim);
  const size_t tokens = task.states.numTokens(), rows = task.states.numRows(), bytes = tokens * sizeof(float);
  call.check(packed.bytes == bytes * task.packedWidth() && gates.bytes == bytes * task.gatesWidth(),
             "there is not a row for each token");
  const int64_t dims[] = {int64_t(tokens), int64_t(heads * task.valueDim)};
  task.output = static_cast<float *>(call.output(0, dims, 2));
  if (call.status) return call.status;

  Scratch scratch(task.states.spareFloats() * sizeof(float));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return call.status;
  task.states.spare = scratch.take<float>(0);
  const size_t pairs = divideUp(task.valueDim, kPair), needed = divideUp(kManyTasks, rows * heads);
  const size_t parts = needed < pairs ? needed : pairs;
  call.parallel(rows * heads * parts, [&](size_t i) {
    const size_t part = i % parts, head = i / parts % heads, row = i / parts / heads;
    kernel.kernels->recur(task, row, head, pairs * part / parts, pairs * (part + 1) / parts);
  });
  return call.status;
}

template <bool IsDelta>
static constexpr CustomOp recurrenceOperator() {
  constexpr size_t kFirst = firstState(IsDelta);
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) { return IsDelta ? "GatedDelta" : "SelectiveScan"; };
  op.getInputCount = [](const CustomOp *) { return kFirst + 1 + kMaxGroups * kStateInputs; };
  op.getInputType = [](const CustomOp *, size_t i) { return stateInputType(kFirst, i); };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) {
    return int(i <= kFirst + kStateInputs ? kRequired : kOptional);
  };
  op.getOutputCount = [](const CustomOp *) { return size_t(2); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.createKernelV2 = createRecurrence;
  op.computeV2 = computeRecurrence;
  return op;
}

const CustomOp kGatedDelta = recurrenceOperator<true>();
const CustomOp kSelectiveScan = recurrenceOperator<false>();

}  // namespace chairlift
