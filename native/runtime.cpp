// Registers the operators with ONNX Runtime, and what they share.
#include "runtime.h"

#include <cstdlib>

#include "kernels.h"

namespace chairlift {

const void *const *api = nullptr;

static void release(Status *status) { call<void>(93, status); }

int64_t attribute(const Info *info, const char *name, int64_t otherwise) {
  int64_t value = 0;
  Status *missing = call(86, info, name, &value);
  if (!missing) return value;
  release(missing);
  return otherwise;
}

float attribute(const Info *info, const char *name, float otherwise) {
  float value = 0;
  Status *missing = call(85, info, name, &value);
  if (!missing) return value;
  release(missing);
  return otherwise;
}

Input Call::input(size_t index, size_t alignment) {
  Input input;
  size_t count = 0;
  if (!status) status = call(88, static_cast<const Context *>(context), &count);
  if (status || index >= count) return input;
  const Value *value = nullptr;
  status = call(90, static_cast<const Context *>(context), index, &value);
  if (status || !value) return input;
  input.isGiven = true;
  void *data = nullptr;
  status = call(51, const_cast<Value *>(value), &data);
  if (!status) status = call(318, value, &input.bytes);
  input.data = data;
  check(input.bytes == 0 || reinterpret_cast<uintptr_t>(data) % alignment == 0, "an input's address is not aligned");
  return input;
}

void *Call::output(size_t index, const int64_t *dims, size_t rank) {
  Value *value = nullptr;
  void *data = nullptr;
  if (!status) status = call(91, context, index, dims, rank, &value);
  if (!status && check(value != nullptr, "an output is left out")) status = call(51, value, &data);
  return data;
}

bool Call::check(bool condition, const char *message) {
  if (!status && !condition) status = failure(message);
  return !status;
}

Scratch::Scratch(size_t bytes) { memory = static_cast<uint8_t *>(aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)); }
Scratch::~Scratch() { free(memory); }

}  // namespace chairlift

using namespace chairlift;

#define CHAIRLIFT_EXPORT extern "C" __attribute__((visibility("default")))

// Hash of the library's sources, see scripts/native/compile.ts.
CHAIRLIFT_EXPORT const char *chairliftSources() { return CHAIRLIFT_SOURCES; }

// The instruction set that operators compute with.
CHAIRLIFT_EXPORT const char *chairliftInstructions() { return kernels().name; }

// ONNX Runtime's name for it. Adds the operators to the options of a session; to be called on one thread.
CHAIRLIFT_EXPORT Status *RegisterCustomOps(Options *options, const ApiBase *base) {
  static Domain *domain = nullptr;
  if (!domain) {
    api = base->getApi(kApiVersion);
    Domain *made = nullptr;
    if (Status *failed = call(26, "chairlift", &made)) return failed;
    const CustomOp *const operators[] = {
        &kLinear8, &kLinear4, &kLinearBlocks8, &kAttention,  &kAttentionFloat16, &kAttentionInt8,
        &kBest,    &kLowRank, &kRows8,         &kRowsBlocks, &kShortConvolution, &kGatedDelta,
        &kSelectiveScan, &kAttentionInt4};
    for (const CustomOp *op : operators) {
      if (Status *failed = call(27, made, op)) return failed;
    }
    domain = made;
  }
  return call(28, options, domain);
}
