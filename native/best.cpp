// The largest of many numbers.
#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

float largestOf(const float *numbers, size_t count) {
  const F16 lowest = splat(-__builtin_inff());
  F16 top = lowest;
  for (size_t i = 0; i < count; i += kLanes) {
    const F16 x = loadSome(numbers + i, count - i);
    top = larger(count - i < kLanes ? within(x, 0, count - i, lowest) : x, top);
  }
  return largest(top);
}

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
