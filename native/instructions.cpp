// All kernels, compiled for one instruction set: which one, the compiler's flags say.
#include "quantize.cpp"

#include "linear8.cpp"

#include "linear4.cpp"

#include "append.cpp"

#include "attention.cpp"

#define CHAIRLIFT_TEXT(name) #name
#define CHAIRLIFT_NAME(name) CHAIRLIFT_TEXT(name)

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

extern const Kernels table;
const Kernels table = {CHAIRLIFT_NAME(CHAIRLIFT_INSTRUCTIONS), quantize, linear8, linear4, append, attend, merge};

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
