// Stands in for ONNX Runtime's C API: memory of exactly the size that is told, and, where a case says
// so, calls that fail, outputs that are left out and memory that is not there.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../runtime.h"

extern "C" void *__real_malloc(size_t);
extern "C" void *__real_aligned_alloc(size_t, size_t);

namespace chairlift {

struct Buffer {
  uint8_t *data = nullptr;
  size_t bytes = 0;
  bool isThere = false;
  // Memory that `data` lies in.
  uint8_t *memory = nullptr;

  // @param skipped bytes before it, for an address that is not aligned
  void allocate(size_t size, size_t skipped) {
    bytes = size;
    isThere = true;
    // An empty one has no byte that may be read.
    memory = static_cast<uint8_t *>(__real_malloc(size + skipped + (size == 0)));
    data = memory + skipped + (size == 0);
  }
};

// Faults of a case. Counts are down to the one that fails, 0 being none.
struct Faults {
  size_t call = 0;
  size_t allocation = 0;
  // An output that nothing takes; -1 for none.
  int missing = -1;
  bool hasNullWhereEmpty = false;
};
static Faults faults;

static bool isDue(size_t &count) { return count > 0 && --count == 0; }

// More than a case may take: as if the machine had no more.
constexpr size_t kMostBytes = 1 << 26;

constexpr size_t kMaxValues = 18;

struct FakeContext {
  Buffer inputs[kMaxValues], outputs[kMaxValues];
  // Input that an output is bound to; -1 for memory of its own.
  int bound[kMaxValues];
  size_t numInputs = 0;
};

struct FakeInfo {
  const char *names[16];
  int64_t ints[16];
  float floats[16];
  size_t count = 0;
};

constexpr size_t kOperators = 14;
static const CustomOp *operators[kOperators];
static size_t numOperators = 0;

static Status *succeed() { return nullptr; }
static Status *makeStatus(int, const char *message) {
  return reinterpret_cast<Status *>(strdup(message));
}
static void releaseStatus(Status *status) { free(status); }
static Status *addOperator(Domain *, const CustomOp *op) {
  operators[numOperators++] = op;
  return succeed();
}
static Status *makeDomain(const char *, Domain **domain) {
  static char any;
  *domain = reinterpret_cast<Domain *>(&any);
  return succeed();
}
static Status *addDomain(Options *, Domain *) { return succeed(); }
template <class T>
static Status *findAttribute(const Info *info, const char *name, T *value) {
  const FakeInfo *fake = reinterpret_cast<const FakeInfo *>(info);
  for (size_t i = 0; i < fake->count; i++) {
    if (strcmp(fake->names[i], name) != 0) continue;
    *value = T(sizeof(T) == 8 ? T(fake->ints[i]) : T(fake->floats[i]));
    return succeed();
  }
  return makeStatus(1, "no such attribute");
}
static Status *fail() { return makeStatus(1, "a call failed"); }
static Status *countInputs(const Context *context, size_t *count) {
  if (isDue(faults.call)) return fail();
  *count = reinterpret_cast<const FakeContext *>(context)->numInputs;
  return succeed();
}
static Status *getInput(const Context *context, size_t index, const Value **value) {
  if (isDue(faults.call)) return fail();
  const Buffer &buffer = reinterpret_cast<const FakeContext *>(context)->inputs[index];
  *value = buffer.isThere ? reinterpret_cast<const Value *>(&buffer) : nullptr;
  return succeed();
}
static size_t elementBytes(size_t index, bool isHalfCache, bool isInt8Cache) {
  return index == 0 ? 4 : isHalfCache ? 2 : isInt8Cache ? 1 : 4;
}
static size_t cacheElement = 4;
static Status *getOutput(Context *context, size_t index, const int64_t *dims, size_t rank, Value **value) {
  if (isDue(faults.call)) return fail();
  FakeContext *fake = reinterpret_cast<FakeContext *>(context);
  Buffer &buffer = fake->outputs[index];
  size_t bytes = elementBytes(index, cacheElement == 2, cacheElement == 1);
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0 || __builtin_mul_overflow(bytes, size_t(dims[i]), &bytes)) return makeStatus(1, "no such shape");
  }
  *value = nullptr;
  if (faults.missing == int(index)) return succeed();
  if (fake->bound[index] >= 0) {
    buffer = fake->inputs[fake->bound[index]];
    if (buffer.bytes != bytes) return makeStatus(1, "what is bound has another shape");
  } else {
    if (bytes > kMostBytes) return makeStatus(1, "an output is too large");
    buffer.allocate(bytes, 0);
    if (bytes == 0 && faults.hasNullWhereEmpty) buffer.data = nullptr;
    memset(buffer.memory, 0xff, bytes);
  }
  *value = reinterpret_cast<Value *>(&buffer);
  return succeed();
}
static Status *getData(Value *value, void **data) {
  if (isDue(faults.call)) return fail();
  *data = reinterpret_cast<Buffer *>(value)->data;
  return succeed();
}
static Status *getBytes(const Value *value, size_t *bytes) {
  if (isDue(faults.call)) return fail();
  *bytes = reinterpret_cast<const Buffer *>(value)->bytes;
  return succeed();
}
// Backwards: no task may count on another.
static Status *runParallel(const Context *, void (*run)(void *, size_t), size_t count, size_t, void *data) {
  if (isDue(faults.call)) return fail();
  while (count-- > 0) run(data, count);
  return succeed();
}

static const void *const *makeApi(uint32_t version) {
  static const void *table[400];
  if (version != kApiVersion) return nullptr;
  table[0] = reinterpret_cast<const void *>(makeStatus);
  table[26] = reinterpret_cast<const void *>(makeDomain);
  table[27] = reinterpret_cast<const void *>(addOperator);
  table[28] = reinterpret_cast<const void *>(addDomain);
  table[51] = reinterpret_cast<const void *>(getData);
  table[85] = reinterpret_cast<const void *>(findAttribute<float>);
  table[86] = reinterpret_cast<const void *>(findAttribute<int64_t>);
  table[88] = reinterpret_cast<const void *>(countInputs);
  table[90] = reinterpret_cast<const void *>(getInput);
  table[91] = reinterpret_cast<const void *>(getOutput);
  table[93] = reinterpret_cast<const void *>(releaseStatus);
  table[274] = reinterpret_cast<const void *>(runParallel);
  table[318] = reinterpret_cast<const void *>(getBytes);
  return table;
}

// The linker has these called in place of malloc and aligned_alloc.
extern "C" void *__wrap_malloc(size_t bytes) { return isDue(faults.allocation) ? nullptr : __real_malloc(bytes); }
extern "C" void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return isDue(faults.allocation) || bytes > kMostBytes ? nullptr : __real_aligned_alloc(alignment, bytes);
}

}  // namespace chairlift
