// The likeliest token of a row of logits.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Logits whose largest one is found without asking where it is.
constexpr size_t kStretch = 1024;

int32_t best(const float *logits, size_t count) {
  const float kInfinity = __builtin_inff();
  float most = -kInfinity;
  size_t at = count;
  for (size_t first = 0; first < count; first += kStretch) {
    const size_t end = first + kStretch < count ? first + kStretch : count;
    F16 top = splat(-kInfinity);
    for (size_t i = first; i < end; i += kLanes) {
      const F16 x = loadSome(logits + i, end - i);
      top = larger(end - i < kLanes ? within(x, 0, end - i, splat(-kInfinity)) : x, top);
    }
    const float largestHere = largest(top);
    if (largestHere > most) {
      most = largestHere;
      at = first;
    }
  }
  if (at == count || most == kInfinity) return -1;
  while (logits[at] != most) at++;
  return int32_t(at);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
