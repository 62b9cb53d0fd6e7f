// Runs the operators without ONNX Runtime, whose C API it stands in for: on every instruction set that
// the CPU has, over random shapes, with memory of exactly the size that is told, so that an address
// sanitizer sees what is read or written outside of it.
//
//   check compare <cases>       inputs that fit: all instruction sets must give the same bits; prints a
//                               hash of all results, which is the same on every platform
//   check fuzz <first> <cases>  what a hostile model may hold, from that case on: refused, or computed
//                               within bounds; prints how many of each operator, and why
//   check best                  prints which instruction set this CPU gets
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "cases.h"
#include "low-rank-reference.h"
#include "state-cases.h"

using namespace chairlift;

extern "C" Status *RegisterCustomOps(Options *, const ApiBase *);

// Whatever a sanitizer finds ends in a signal, whose handler names the case.
#define CHAIRLIFT_FOR_SANITIZERS extern "C" __attribute__((visibility("default")))
CHAIRLIFT_FOR_SANITIZERS const char *__asan_default_options() { return "abort_on_error=1"; }
CHAIRLIFT_FOR_SANITIZERS const char *__ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

static void release(FakeContext &context) {
  for (size_t i = 0; i < kMaxValues; i++) {
    if (context.bound[i] < 0) free(context.outputs[i].memory);
    free(context.inputs[i].memory);
  }
}

static uint64_t hash = 1469598103934665603u;
static void addToHash(const Buffer &buffer) {
  for (size_t i = 0; i < buffer.bytes; i++) hash = (hash ^ buffer.data[i]) * 1099511628211u;
}

static void checkLowRank(const FakeContext &context) {
  const Buffer *in = context.inputs;
  const size_t rows = context.outputs[0].bytes / sizeof(float) / lowRankShape.columns();
  const auto floats = [](const Buffer &buffer) { return reinterpret_cast<const float *>(buffer.data); };
  const size_t slots = in[2].bytes / lowRankShape.slotBytes();
  if (lowRankIsRight(lowRankShape, floats(in[0]), floats(in[1]), in[2].data, slots, floats(in[3]), 1e-5f, rows,
                     floats(context.outputs[0])))
    return;
  fprintf(stderr, "LowRank gives something else than a plain sum\n");
  exit(1);
}

static uint64_t currentCase = 0;

// How the cases of an operator ended.
struct Outcomes {
  uint64_t computed = 0, refused = 0;
};
static Outcomes outcomes[kOperators];

// Why cases were refused, and how often.
struct Reason {
  char text[120];
  uint64_t count;
};
static Reason reasons[64];
static size_t numReasons = 0;

static void countReason(const char *text) {
  size_t at = 0;
  while (at < numReasons && strcmp(reasons[at].text, text) != 0) at++;
  if (at == sizeof reasons / sizeof *reasons) return;
  if (at == numReasons) snprintf(reasons[numReasons++].text, sizeof reasons->text, "%s", text);
  reasons[at].count++;
}

// Computes the case of a seed with an instruction set.
static void compute(uint64_t seed, const char *instructions, uint64_t *result) {
  const bool isFuzzing = hostility > 0;
  setenv("CHAIRLIFT_INSTRUCTIONS", instructions, 1);
  const size_t which = below(numOperators);
  FakeInfo info;
  FakeContext context;
  if (which < 3) makeLinear(info, context, which == 1, which > 0);
  else if (which < 6) makeAttention(info, context, which == 3 ? 4 : which == 4 ? 2 : 1);
  else if (which == 6) makeBest(info, context);
  else if (which == 7) makeLowRank(info, context);
  else if (which < 10) makeRows(info, context, which == 9);
  else if (which == 10) makeShortConvolution(info, context);
  else if (which < 13) makeRecurrence(info, context, which == 11);
  else makeAttention(info, context, 1, true);
  if (isFuzzing && maybe(64)) context.numInputs = below(context.numInputs + 1);
  if (isFuzzing && maybe(8)) drawFaults();
  const CustomOp *op = operators[which];
  void *kernel = nullptr;
  Status *status = op->createKernelV2(op, nullptr, reinterpret_cast<Info *>(&info), &kernel);
  if (!status) {
    status = op->computeV2(kernel, reinterpret_cast<Context *>(&context));
    op->destroy(kernel);
  }
  faults = Faults{};
  if (status && !isFuzzing) {
    fprintf(stderr, "case %llu was refused: %s\n", static_cast<unsigned long long>(seed),
            reinterpret_cast<char *>(status));
    exit(1);
  }
  if (status) countReason(reinterpret_cast<char *>(status));
  (status ? outcomes[which].refused : outcomes[which].computed)++;
  releaseStatus(status);
  if (which == 7 && !isFuzzing) checkLowRank(context);
  hash = 1469598103934665603u;
  for (const Buffer &buffer : context.outputs) {
    if (!isFuzzing) addToHash(buffer);
  }
  *result = hash;
  release(context);
}

static void begin(uint64_t seed) {
  currentCase = seed;
  state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < 4; i++) draw();
}

static const char *const kInstructions[] = {"scalar", "avx2", "avxvnni", "avx512", "amx", "tiles", "neon", "i8mm"};

// Those that this CPU has. Returns how many.
static size_t findInstructions(const char **found) {
  size_t count = 0;
  for (const char *name : kInstructions) {
    setenv("CHAIRLIFT_INSTRUCTIONS", name, 1);
    if (strcmp(kernels().name, name) == 0) found[count++] = name;
  }
  return count;
}

static int compare(uint64_t cases, const char *const *names, size_t numNames) {
  uint64_t total = 0;
  for (uint64_t seed = 1; seed <= cases; seed++) {
    uint64_t expected = 0;
    for (size_t i = 0; i < numNames; i++) {
      uint64_t result;
      begin(seed);
      compute(seed, names[i], &result);
      if (i == 0) expected = result;
      if (result == expected) continue;
      fprintf(stderr, "case %llu: %s gives other bits\n", static_cast<unsigned long long>(seed), names[i]);
      return 1;
    }
    total = total * 31 + expected;
  }
  printf("%016llx\n", static_cast<unsigned long long>(total));
  return 0;
}

// Names the case, so that it can be run again by itself.
static void tellCase(int) {
  char text[64];
  const int length = snprintf(text, sizeof text, "it was case %llu\n", static_cast<unsigned long long>(currentCase));
  if (write(STDERR_FILENO, text, size_t(length)) < 0) _exit(4);
  _exit(3);
}


// CPU time, which no case takes.
constexpr itimerval kHang = {{0, 0}, {30, 0}};

static int fuzz(uint64_t first, uint64_t cases, const char *const *names, size_t numNames) {
  signal(SIGABRT, tellCase);
  signal(SIGPROF, tellCase);
  for (uint64_t seed = first; seed < first + cases; seed++) {
    begin(seed);
    setitimer(ITIMER_PROF, &kHang, nullptr);
    const size_t levels[] = {4, 8, 16, 32, 64, 256};
    hostility = levels[below(6)];
    uint64_t result;
    compute(seed, names[below(numNames)], &result);
  }
  for (size_t i = 0; i < numOperators; i++) {
    printf("%s: %llu computed, %llu refused\n", operators[i]->getName(operators[i]),
           static_cast<unsigned long long>(outcomes[i].computed), static_cast<unsigned long long>(outcomes[i].refused));
  }
  for (size_t i = 0; i < numReasons; i++) {
    printf("%llu x %s\n", static_cast<unsigned long long>(reasons[i].count), reasons[i].text);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "best") == 0) return puts(kernels().name) < 0;
  const bool isFuzzing = argc == 4 && strcmp(argv[1], "fuzz") == 0;
  if (!isFuzzing && (argc != 3 || strcmp(argv[1], "compare") != 0)) return 2;
  const ApiBase base = {makeApi, nullptr};
  if (RegisterCustomOps(nullptr, &base) != nullptr || numOperators != kOperators) return 2;
  const char *names[sizeof kInstructions / sizeof *kInstructions];
  const size_t numNames = findInstructions(names);
  const uint64_t cases = strtoull(argv[argc - 1], nullptr, 10);
  const int code = isFuzzing ? fuzz(strtoull(argv[2], nullptr, 10), cases, names, numNames) : compare(cases, names, numNames);
  for (size_t i = 0; i < numNames; i++) fprintf(stderr, "%s ", names[i]);
  fprintf(stderr, "checked\n");
  return code;
}
