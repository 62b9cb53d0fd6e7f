// Chooses the kernels for this CPU.
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace chairlift {

#if defined(__x86_64__)
namespace amx {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
namespace avxvnni {
extern const Kernels table;
}
namespace avx2 {
extern const Kernels table;
}
#if defined(CHAIRLIFT_CHECKS_TILES)
namespace tiles {
extern const Kernels table;
}
#endif
#elif defined(__aarch64__)
namespace i8mm {
extern const Kernels table;
}
namespace neon {
extern const Kernels table;
}
#endif
namespace scalar {
extern const Kernels table;
}

struct Choice {
  const Kernels *kernels;
  bool isThere;
};

#if defined(__x86_64__)
// Whether this CPU multiplies tiles of bytes, and Linux lets the process use them: it must be asked, and refuses
// where a thread has too small a stack for signals.
static bool hasTiles() {
  constexpr unsigned kTiles = 1u << 24, kBytes = 1u << 25;
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & (kTiles | kBytes)) != (kTiles | kBytes)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

Ahead bytesAhead() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // A core of a Xeon waits for few lines at once: what is asked for early takes the place of what is needed first.
  if (__builtin_cpu_is("intel")) return {768, 2048};
#endif
  return {8192, 4096};
}

const Kernels &kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool hasAvx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool hasAvx512 = hasAvx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512vnni");
  const Choice choices[] = {{&amx::table, hasAvx512 && __builtin_cpu_supports("avx512vbmi") && hasTiles()},
                            {&avx512::table, hasAvx512},
                            {&avxvnni::table, hasAvx2 && __builtin_cpu_supports("avxvnni")},
                            {&avx2::table, hasAvx2},
                            {&scalar::table, true},
#if defined(CHAIRLIFT_CHECKS_TILES)
                            {&tiles::table, hasAvx2},
#endif
                            };
#elif defined(__aarch64__)
  const bool hasDotProducts = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  const Choice choices[] = {{&i8mm::table, hasDotProducts && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0},
                            {&neon::table, hasDotProducts},
                            {&scalar::table, true}};
#else
  const Choice choices[] = {{&scalar::table, true}};
#endif
  const char *name = getenv("CHAIRLIFT_INSTRUCTIONS");
  const Kernels *best = nullptr;
  for (const Choice &choice : choices) {
    if (!choice.isThere) continue;
    if (!best) best = choice.kernels;
    if (name && strcmp(name, choice.kernels->name) == 0) return *choice.kernels;
  }
  return *best;
}

}  // namespace chairlift
