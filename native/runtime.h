// The part of ONNX Runtime's C API that operators use. Its table of functions is only ever appended to:
// a function's index never changes, so that a binding needs no header of theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace chairlift {

struct Status;  // OrtStatus; null is success
struct Info;    // OrtKernelInfo
struct Context; // OrtKernelContext
struct Value;   // OrtValue
struct Domain;  // OrtCustomOpDomain
struct Options; // OrtSessionOptions

struct ApiBase {
  const void *const *(*getApi)(uint32_t version);
  const char *(*getVersion)();
};

// OrtCustomOp of version 16 and later.
struct CustomOp {
  uint32_t version;
  void *(*createKernel)(const CustomOp *, const void *api, const Info *);
  const char *(*getName)(const CustomOp *);
  const char *(*getProvider)(const CustomOp *);
  int (*getInputType)(const CustomOp *, size_t);
  size_t (*getInputCount)(const CustomOp *);
  int (*getOutputType)(const CustomOp *, size_t);
  size_t (*getOutputCount)(const CustomOp *);
  void (*compute)(void *kernel, Context *);
  void (*destroy)(void *kernel);
  int (*getInputCharacteristic)(const CustomOp *, size_t);
  int (*getOutputCharacteristic)(const CustomOp *, size_t);
  int (*getInputMemoryType)(const CustomOp *, size_t);
  int (*getVariadicInputMinArity)(const CustomOp *);
  int (*getVariadicInputHomogeneity)(const CustomOp *);
  int (*getVariadicOutputMinArity)(const CustomOp *);
  int (*getVariadicOutputHomogeneity)(const CustomOp *);
  Status *(*createKernelV2)(const CustomOp *, const void *api, const Info *, void **kernel);
  Status *(*computeV2)(void *kernel, Context *);
  Status *(*inferShapes)(const CustomOp *, void *);
  int (*getStartVersion)(const CustomOp *);
  int (*getEndVersion)(const CustomOp *);
  size_t (*getMayInplace)(int **, int **);
  void (*releaseMayInplace)(int *, int *);
  size_t (*getAliases)(int **, int **);
  void (*releaseAliases)(int *, int *);
};

// Element types, and whether an input may be left out, as numbered there.
enum ElementType { kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kHalf = 10 };
enum Characteristic { kRequired = 0, kOptional = 1 };

constexpr uint32_t kApiVersion = 29;

// Properties that all operators have: kernels are from malloc, and no input or output is variadic.
constexpr CustomOp plainOperator() {
  CustomOp op{};
  op.version = kApiVersion;
  op.getProvider = [](const CustomOp *) { return "CPUExecutionProvider"; };
  op.getInputMemoryType = [](const CustomOp *, size_t) { return 0; };
  op.getVariadicInputMinArity = op.getVariadicOutputMinArity = [](const CustomOp *) { return 1; };
  op.getVariadicInputHomogeneity = op.getVariadicOutputHomogeneity = [](const CustomOp *) { return 1; };
  op.getStartVersion = [](const CustomOp *) { return 1; };
  op.getEndVersion = [](const CustomOp *) { return 1; };
  op.destroy = [](void *kernel) { free(kernel); };
  return op;
}

// Set once, when the operators are registered.
extern const void *const *api;

template <class Result = Status *, class... Arguments>
static inline Result call(size_t index, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(const_cast<void *>(api[index]))(arguments...);
}

static inline Status *failure(const char *message) {
  constexpr int kInvalidArgument = 2;
  return call(0, kInvalidArgument, message);
}

// Value of an attribute, or `otherwise` where it is left out.
int64_t attribute(const Info *, const char *name, int64_t otherwise);
float attribute(const Info *, const char *name, float otherwise);

// An input's memory, which belongs to ONNX Runtime; null where it is left out.
struct Input {
  const void *data = nullptr;
  size_t bytes = 0;
  // Not left out, though it may be empty.
  bool isGiven = false;

  template <class T>
  const T *as() const { return static_cast<const T *>(data); }
};

// Inputs and outputs of a node while it computes. The first thing that fails is kept in `status`, and
// all after it does nothing.
struct Call {
  Context *context;
  Status *status = nullptr;

  explicit Call(Context *of) : context(of) {}
  // Its address is a multiple of `alignment`, or it fails: a file may keep a tensor at any of its bytes.
  Input input(size_t index, size_t alignment = sizeof(float));
  // An output's memory: what is bound to it, or new.
  void *output(size_t index, const int64_t *dims, size_t rank);
  bool check(bool condition, const char *message);

  // Runs `task(i)` for each i from 0 on, on the threads of the session.
  template <class Task>
  void parallel(size_t count, const Task &task) {
    if (status || count == 0) return;
    if (count == 1) return task(size_t(0));
    void (*run)(void *, size_t) = [](void *data, size_t i) { (*static_cast<const Task *>(data))(i); };
    status = call(274, static_cast<const Context *>(context), run, count, size_t(0),
                  static_cast<void *>(const_cast<Task *>(&task)));
  }
};

// Memory for one computation, in pieces. Nothing is kept between computations: sessions may compute the
// same node on several threads.
struct Scratch {
  uint8_t *memory = nullptr;
  size_t used = 0;

  explicit Scratch(size_t bytes);
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch();
  // Aligned like a line of the cache.
  template <class T>
  T *take(size_t count) {
    T *taken = reinterpret_cast<T *>(memory + used);
    used += sizeOf<T>(count);
    return taken;
  }
  template <class T>
  static size_t sizeOf(size_t count) { return (count * sizeof(T) + 63) / 64 * 64; }
};

// Operators of the files *-operator.cpp.
extern const CustomOp kLinear8, kLinear4, kLinearBlocks8, kAttention, kAttentionFloat16, kAttentionInt8, kBest,
    kLowRank, kRows8, kRowsBlocks, kShortConvolution, kGatedDelta,
    kSelectiveScan, kAttentionInt4;

}  // namespace chairlift
