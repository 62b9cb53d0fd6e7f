// All kernels, compiled for one instruction set: which one, the compiler's flags say.
#include "lanes.h"

#define CHAIRLIFT_TEXT(name) #name
#define CHAIRLIFT_NAME(name) CHAIRLIFT_TEXT(name)

// AVX-VNNI and i8mm add products of bytes, and AMX products of many rows: all else is AVX2's, NEON's and AVX-512's.
#if defined(__AMX_INT8__)
#define CHAIRLIFT_OTHERS avx512
#elif defined(__AVXVNNI__) || defined(CHAIRLIFT_EMULATES_TILES)
#define CHAIRLIFT_OTHERS avx2
#elif defined(__ARM_FEATURE_MATMUL_INT8)
#define CHAIRLIFT_OTHERS neon
#endif

#if defined(CHAIRLIFT_OTHERS)
namespace chairlift {
namespace CHAIRLIFT_OTHERS {
void linear8(const Linear &, size_t, size_t, size_t, size_t);
void linear4(const Linear &, size_t, size_t, size_t, size_t);
void linearBlocks8(const Linear &, size_t, size_t, size_t, size_t);
void quantize(const Quantization &, size_t, size_t);
void lowRankReduce(const LowRank &, size_t, size_t, size_t);
void lowRankExpand(const LowRank &, size_t, size_t, size_t);
void append(const Attention &, const AttentionGroup &, size_t, size_t, size_t, size_t);
void attend(const Attention &, const AttentionTask &);
void merge(const Attention &, const AttentionTask &);
void convolve(const ShortConvolution &, size_t);
void recur(const Recurrence &, size_t, size_t, size_t, size_t);
float largestOf(const float *, size_t);
}  // namespace CHAIRLIFT_OTHERS
}  // namespace chairlift
#else
#define CHAIRLIFT_OTHERS CHAIRLIFT_INSTRUCTIONS
#include "quantize.cpp"

#include "low-rank.cpp"

#include "append.cpp"

#include "attention.cpp"

#include "short-convolution.cpp"

#include "recurrence.cpp"

#include "best.cpp"
#endif

#if defined(__AMX_INT8__) || defined(CHAIRLIFT_EMULATES_TILES)
#include "attention-tiles.cpp"

#include "linear-tiles.cpp"
#define CHAIRLIFT_ATTEND attend
// More than one tile of rows in vectors.
constexpr size_t kRowsForTiles = chairlift::kRowGroup + 1;
#else
#include "linear8.cpp"

#include "linear-blocks.cpp"
#define CHAIRLIFT_ATTEND CHAIRLIFT_OTHERS::attend
constexpr size_t kRowsForTiles = 0;
#endif

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

extern const Kernels table;
const Kernels table = {CHAIRLIFT_NAME(CHAIRLIFT_INSTRUCTIONS),
                       kRowsForTiles,
                       CHAIRLIFT_OTHERS::quantize,
                       linear8,
                       linear4,
                       linearBlocks8,
                       CHAIRLIFT_OTHERS::lowRankReduce,
                       CHAIRLIFT_OTHERS::lowRankExpand,
                       CHAIRLIFT_OTHERS::append,
                       CHAIRLIFT_ATTEND,
                       CHAIRLIFT_OTHERS::merge,
                       CHAIRLIFT_OTHERS::convolve,
                       CHAIRLIFT_OTHERS::recur,
                       CHAIRLIFT_OTHERS::largestOf};

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
