// Rows8 and RowsBlocks: rows of a matrix that a linear layer multiplies with. A token's embedding is one
// where the LM head has the same weights: so they are there once.
//
// Inputs: ids int64 [...]; weights uint8, scales float (float16 in RowsBlocks) and, optional there,
// offsets float16, as of Linear8, or of Linear4 and LinearBlocks8 by the attributes bits and block_size.
// Output: float [ids, in_features]. An id that is not below out_features is refused.
#include <cstdlib>
#include <new>

#include "half.h"
#include "kernels.h"
#include "runtime.h"

namespace chairlift {

struct RowsKernel {
  size_t features, rows, bits, block;

  size_t blocks() const { return roundUp(features, kBlock) / block; }
  size_t blockBytes() const { return block * bits / 8; }
};

// Rows that a task has at most.
constexpr size_t kTaskRows = 8;

static Status *createRows(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t features = attribute(info, "in_features", int64_t(0));
  const int64_t rows = attribute(info, "out_features", int64_t(0));
  const int64_t bits = attribute(info, "bits", int64_t(8)), block = attribute(info, "block_size", int64_t(kBlock));
  if (features < 1 || features > int64_t(kMaxFeatures)) return failure("in_features is not from 1 to 65536");
  if (rows < 1 || rows > 1 << 24) return failure("out_features is not from 1 to 2^24");
  if (bits != 4 && bits != 8) return failure("bits are neither 4 nor 8");
  if (block != 16 && block != 32 && block != int64_t(kBlock)) return failure("block_size is not 16, 32 or 64");
  void *memory = malloc(sizeof(RowsKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) RowsKernel{size_t(features), size_t(rows), size_t(bits), size_t(block)};
  return nullptr;
}

// Value `i` of a block of a pair's sixteen columns and their neighbours, see Linear in kernels.h.
static float valueOf(const RowsKernel &kernel, const uint8_t *block, size_t lane, size_t i) {
  const size_t four = i / 4;
  if (kernel.bits == 8) return float(block[four * 4 * kPair + lane * 4 + i % 4]) - 128.0f;
  const uint8_t *half = block + lane / kLanes * kLanes * kernel.blockBytes();
  const uint8_t byte = half[four / 2 * 4 * kLanes + lane % kLanes * 4 + i % 4];
  return float(four % 2 == 0 ? byte & 15 : byte >> 4) - 8.0f;
}

template <bool HasBlocks>
static Status *computeRows(void *of, Context *context) {
  const RowsKernel &kernel = *static_cast<RowsKernel *>(of);
  Call call(context);
  const Input ids = call.input(0, sizeof(int64_t)), weights = call.input(1), scales = call.input(2), offsets = call.input(3);
  const size_t count = ids.bytes / sizeof(int64_t), blocks = kernel.blocks();
  const size_t places = roundUp(kernel.rows, kPair), numScales = places * (HasBlocks ? blocks : 1);
  call.check(weights.bytes == places * blocks * kernel.blockBytes(), "weights are of another size");
  call.check(scales.bytes == numScales * (HasBlocks ? 2 : 4), "scales are of another size");
  call.check(!offsets.data || (HasBlocks && offsets.bytes == 2 * numScales), "offsets are of another size");
  for (size_t i = 0; i < count && !call.status; i++) {
    call.check(uint64_t(ids.as<int64_t>()[i]) < kernel.rows, "an id is out of range");
  }
  const int64_t dims[] = {int64_t(count), int64_t(kernel.features)};
  float *output = static_cast<float *>(call.output(0, dims, 2));
  call.parallel(divideUp(count, kTaskRows), [&](size_t task) {
    const size_t end = (task + 1) * kTaskRows;
    for (size_t row = task * kTaskRows; row < end && row < count; row++) {
      const size_t id = size_t(ids.as<int64_t>()[row]), lane = id % kPair;
      float *own = output + row * kernel.features;
      for (size_t block = 0; block * kernel.block < kernel.features; block++) {
        const size_t at = id / kPair * blocks + block, first = block * kernel.block;
        const size_t scaleAt = at * kPair + lane, left = kernel.features - first;
        const float scale = HasBlocks ? fromHalf(scales.as<uint16_t>()[scaleAt]) : scales.as<float>()[id];
        const float offset = offsets.data ? fromHalf(offsets.as<uint16_t>()[scaleAt]) : 0.0f;
        const uint8_t *values = weights.as<uint8_t>() + at * kPair * kernel.blockBytes();
        for (size_t i = 0; i < kernel.block && i < left; i++) {
          own[first + i] = valueOf(kernel, values, lane, i) * scale + offset;
        }
      }
    }
  });
  return call.status;
}

template <bool HasBlocks>
static constexpr CustomOp rowsOperator() {
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) { return HasBlocks ? "RowsBlocks" : "Rows8"; };
  op.getInputCount = [](const CustomOp *) { return size_t(HasBlocks ? 4 : 3); };
  op.getInputType = [](const CustomOp *, size_t i) {
    return int(i == 0 ? kInt64 : i == 1 ? kUint8 : HasBlocks ? kHalf : kFloat);
  };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) { return int(i < 3 ? kRequired : kOptional); };
  op.getOutputCount = [](const CustomOp *) { return size_t(1); };
  op.getOutputType = [](const CustomOp *, size_t) { return int(kFloat); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t) { return int(kRequired); };
  op.createKernelV2 = createRows;
  op.computeV2 = computeRows<HasBlocks>;
  return op;
}

const CustomOp kRows8 = rowsOperator<false>();
const CustomOp kRowsBlocks = rowsOperator<true>();

}  // namespace chairlift
