// The whole interface of the kernels, for one look: what they compute, over which layouts, and how the
// operators reach those of this CPU.
//
// Numbers. A matrix product is of integers, and exact, as is what attention sums up from an int8 cache. All
// else is float32 in vectors of sixteen lanes, whose order of operations is the same on every instruction set
// (lanes.h). So a result depends neither on the instruction set, nor on the threads, nor on which rows are
// computed together: a token's values are the same bits when it is decoded and when it is part of a prompt, in
// whatever chunks.
//
// Plain C++17 without exceptions, RTTI, or anything of libstdc++ at run time. Memory belongs to the
// callers; kernels allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chairlift {

// Columns that lie together in packed weights: two vectors of sixteen.
constexpr size_t kLanes = 16;
constexpr size_t kPair = 2 * kLanes;
// Values of a row that share a scale, in activations and in 4-bit weights; rows are padded to a multiple.
// Weights that are stored in smaller blocks keep these, and have activations like them.
constexpr size_t kBlock = 64;
constexpr size_t kSmallBlock = 32;
constexpr size_t kSmallestBlock = 16;
// Rows of activations that lie together.
constexpr size_t kRowGroup = 8;
// Rows of a tile of AMX, and bytes of each.
constexpr size_t kTileRows = 16;
constexpr size_t kTileDepth = 64;
// Longest row of a product: 255 * 127 * 65,536 is what 32 bits hold of its sum.
constexpr size_t kMaxFeatures = 65536;

constexpr size_t divideUp(size_t value, size_t by) { return (value + by - 1) / by; }
inline size_t roundUp(size_t value, size_t to) { return divideUp(value, to) * to; }

// ---- Rows as 8-bit integers (quantize.cpp) ----------------------------------------------------------

// Activations [rows, features] become values from -127 to 127, each block of a row with a scale of its
// own: its largest magnitude becomes 127. Features are padded with zeros to `padded`.
//
// A few of a row's values are often a hundred times as large as the others: with one scale for all, what
// is left of the others is little. With a step all values have one scale, which was found beforehand: what
// is larger than 127 steps is cut off.
//
// Eight rows lie together, four values of each in turn: what a step of a product reads is in one place. For tiles
// (tiles.h) sixteen rows lie together, a tile of each in turn.
struct Quantized {
  int8_t *values;  // [groups][padded / 4][kRowGroup][4]; in tiles [groups][padded / kTileDepth][kTileRows][kTileDepth]
  float *scales;   // [groups][blocks][kRowGroup]
  int32_t *sums;   // likewise: of the values, which takes the weights' offset out of a product
  size_t padded;
  size_t block;  // kBlock, kSmallBlock or kSmallestBlock
  // Step of all values, where it is not 0: then there are no scales, and a row's first sum is of all its values.
  float step;
  bool isTiled;

  size_t blocks() const { return padded / block; }
  // Four values of the row; those that come next are kStep bytes further.
  int8_t *valuesOf(size_t row) const {
    return values + row / kRowGroup * kRowGroup * padded + row % kRowGroup * 4;
  }
  // Values of the row from `feature` on, up to the tile's end.
  int8_t *tiledOf(size_t row, size_t feature) const {
    const size_t tile = row / kTileRows * kTileRows * padded + feature / kTileDepth * kTileRows * kTileDepth;
    return values + tile + row % kTileRows * kTileDepth + feature % kTileDepth;
  }
  // Rows that there is memory for.
  size_t places(size_t rows) const { return roundUp(rows, isTiled ? kTileRows : kRowGroup); }
  // Scale of the row's first block; those that come next are kRowGroup further.
  size_t scaleOf(size_t row) const { return row / kRowGroup * kRowGroup * blocks() + row % kRowGroup; }

  static constexpr size_t kStep = 4 * kRowGroup;
};

struct Quantization {
  const float *input;  // [rows, features]
  size_t features;
  const float *norm;  // [features] of an RMS normalization that comes before; null for none
  float epsilon;
  Quantized output;
};

// ---- Linear layers (linear8.cpp, linear-blocks.cpp, strips-neon.h, epilogue.h) ----------------------

enum class Activation { kNone, kSilu, kGeluTanh };

// y = x W^T, then all that follows it: bias, gate, residual.
//
// Weights lie in pairs of sixteen columns, pair by pair, each one stream of memory:
//
//   8 bits  [pairs][padded / 4][2][16][4]   value + 128; scales float [pairs][32], or in
//                                           blocks float16 [pairs][blocks][32]
//   4 bits  [pairs][blocks][2][block / 8][16][4]   value + 8, two groups of four to a byte: of each block
//                                           the groups 2 i low and 2 i + 1 high; scales float16
//                                           [pairs][blocks][32]
//
// In blocks a weight may be value * scale + offset: float16 offsets lie like the scales. What they add is
// the offset times the sum of the block's activations.
//
// Sixteen columns by four values are the 64 bytes that one instruction of AVX-512 multiplies with four
// activations, repeated: products of bytes without a sign and bytes with one. The offset makes weights
// the ones without, so that activations can come from memory as they are; it is taken out by starting
// sums at -offset * (sum of the activations).
//
// With an activation, the first sixteen columns of a pair are of the gate and the others of the same
// columns of `up`: the result has half as many columns.
struct Linear {
  Quantized input;
  const uint8_t *weights;
  const void *scales;
  const uint16_t *offsets;  // of blocks; null for none
  const float *bias;      // [pairs][32]; null for none
  const float *added;     // by adapters, before the activation: [rows, columns], with an activation
                          // [rows, 2 columns], the gate's first; null for none
  const float *residual;  // [rows, columns], added last; null for none
  float *output;          // [rows, columns]
  size_t columns;         // of the output
  Activation activation;
  size_t ahead;           // bytes of weights that memory is asked for in advance, of Ahead

  size_t pairs() const { return divideUp(columns, activation == Activation::kNone ? kPair : kLanes); }

  // The product of some of the rows and columns by itself, without activation and residual. `firstRow` is
  // a multiple of kRowGroup.
  Linear part(size_t firstRow, size_t firstPair, size_t numColumns, size_t pairBytes, size_t scaleBytes,
              float *to) const {
    Linear own = *this;
    const size_t firstScale = input.scaleOf(firstRow);
    own.input.values += firstRow * input.padded;
    own.input.scales += firstScale;
    own.input.sums += firstScale;
    own.weights += firstPair * pairBytes;
    own.scales = static_cast<const uint8_t *>(scales) + firstPair * scaleBytes;
    if (offsets) own.offsets += firstPair * input.blocks() * kPair;
    if (bias) own.bias += firstPair * kPair;
    own.output = to;
    own.columns = numColumns;
    return own;
  }
};

// ---- Adapters (low-rank.cpp) -------------------------------------------------------------------------

// Matrices of a checkpoint that read the same value, side by side in a linear layer.
constexpr size_t kMaxParts = 3;

// Adapters of a linear layer in memory. Each has a slot in a pool; of a slot each part has a rank, 0
// where the adapter leaves it as it is, an A and a B:
//
//   ranks  int32 [16]
//   A      float16 [parts][padded rank / 16][features][16]
//   B      float16 [parts][pairs of the part][padded rank][32]
//
// So vectors are of ranks in A, and of columns in B: no sum is over lanes.
struct LowRankShape {
  size_t features, paddedRank, parts;
  size_t partColumns[kMaxParts];

  size_t pairs(size_t part) const { return divideUp(partColumns[part], kPair); }
  size_t firstColumn(size_t part) const {
    size_t columns = 0;
    for (size_t p = 0; p < part; p++) columns += partColumns[p];
    return columns;
  }
  size_t columns() const { return firstColumn(parts); }
  // Width of a row's products with A.
  size_t width() const { return parts * paddedRank; }
  size_t firstDown(size_t part) const { return part * paddedRank * features; }
  size_t firstUp(size_t part) const {
    size_t all = 0;
    for (size_t p = 0; p < part; p++) all += pairs(p);
    return firstDown(parts) + all * kPair * paddedRank;
  }
  static constexpr size_t kRanksBytes = 64;
  size_t slotBytes() const { return kRanksBytes + 2 * firstUp(parts); }
};

struct LowRank {
  const LowRankShape *shape;
  const float *input;  // [rows, features]
  const float *norm;   // as in Quantization
  float epsilon;
  const uint8_t *pool;  // [slots]
  size_t numSlots;
  // Rows slot by slot, and last those without an adapter; where each slot's begin, and all end.
  const size_t *rows;    // [rows]
  const size_t *starts;  // [slots + 2]
  // In the order of `rows`:
  const float *scales;  // [rows] how much of its adapter a row has
  float *gathered;      // [rows, features]
  float *reduced;       // [rows, width]
  float *output;        // [rows, columns], in their own order

  size_t rank(size_t slot, size_t part) const {
    return reinterpret_cast<const uint32_t *>(pool + slot * shape->slotBytes())[part];
  }
  const uint16_t *halves(size_t slot) const {
    return reinterpret_cast<const uint16_t *>(pool + slot * shape->slotBytes() + LowRankShape::kRanksBytes);
  }
};

// ---- Attention (append.cpp, attention.cpp) ----------------------------------------------------------

enum class CacheType { kFloat32, kFloat16, kInt8, kInt4 };

// Positions whose scores are computed and weighted together. A sequence's blocks begin at multiples of
// it, and their results are merged in order: so it does not matter who computes which.
constexpr size_t kContextBlock = 128;

// Rows of the same number of tokens, over slots of one KV cache.
struct AttentionGroup {
  size_t firstToken;  // among all groups'
  size_t batch;
  size_t tokens;           // of each row
  size_t capacity;         // positions of each slot, a multiple of 16
  const int32_t *lengths;  // [batch] last valid position after this step
  bool isFresh;            // nothing is cached yet, and rows may be shorter than `tokens`
  void *keys;              // [batch, kv_heads, capacity, position], as are the values
  void *values;

  size_t past(size_t row) const { return isFresh ? 0 : size_t(lengths[row]) + 1 - tokens; }
};

constexpr size_t kMaxGroups = 2;
constexpr size_t kMaxHeadDim = 512;

// Causal attention over a KV cache that is appended to in place.
//
// In the cache sixteen positions of a head lie together, in a tile: keys [head_dim][16], so that a vector
// has a dimension of all sixteen and scores need no sums over lanes; values [16][head_dim]. There
// head_dim is padded to a multiple of sixteen. A tile of int8 has sixteen float32 scales after these, and
// is padded to head_dim + 16 bytes a position, so that few positions make whole pages of memory.
//
// A tile of int4 has blocks of 32 dimensions, the last one padded. Of a key [blocks][16 dimensions][16 positions]
// bytes, of a value [16 positions][blocks][16 dimensions]: the low four bits are of dimension i of a block, the high
// ones of i + 16, and 128 is taken off, since bytes have a sign. Then float16 scales [blocks][16 positions], and
// likewise the least numbers: a number is its bits * scale + least. It is padded to sixteen bytes a position.
//
// Heads in int8 and int4 are rotated before (see rotate in cache.h).
struct Attention {
  size_t heads;
  size_t kvHeads;
  size_t headDim;  // even
  size_t window;   // positions that a token sees, itself included; 0 for all
  float softcap;   // scores x become softcap * tanh(x / softcap); 0 leaves them
  CacheType cacheType;
  const float *qkv;  // [tokens, (heads + 2 kv_heads) * head_dim]
  // [positions, head_dim / 2]: dimension i turns with dimension i + head_dim / 2. What scores are to be
  // multiplied by is in the tables.
  const float *cos, *sin;
  const float *queryNorm, *keyNorm;  // RMS norms' weights; null for none
  bool normsAllHeads;                // over all heads together, with a weight each; else of each head
  float epsilon;
  const float *sinks;  // [heads] a score each that takes its share and has no value; null for none
  // [tokens] where the positions end that a token sees, if that is after its own: those of an image see all of
  // it. Null for none.
  const int32_t *ends;
  AttentionGroup groups[kMaxGroups];
  size_t numGroups;
  float *queries;   // [tokens, heads, head_dim] scratch: normalized and turned
  float *partials;  // scratch of `partialFloats`, where blocks of one query are computed apart
  float *output;    // [tokens, heads, head_width]

  // Width of a head in the cache and in what is computed from it.
  size_t headWidth() const { return roundUp(headDim, kLanes); }
  size_t width() const { return (heads + 2 * kvHeads) * headDim; }
  size_t queriesPerHead() const { return heads / kvHeads; }
  // Where the positions end that a token of a row sees.
  size_t endOf(const AttentionGroup &group, size_t row, size_t token) const {
    const size_t own = group.past(row) + token + 1;
    const size_t other = ends ? size_t(ends[group.firstToken + row * group.tokens + token]) : 0;
    return other > own ? other : own;
  }
  // Size of a block of one query: the weighted values' sum, then the largest score and the weights' sum.
  size_t partialSize() const { return headWidth() + kLanes; }
};

// Tokens of one row, of one head of the cache, and a range of the blocks before them.
struct AttentionTask {
  const AttentionGroup *group;
  size_t row, kvHead;
  size_t firstToken, numTokens;  // numTokens * queriesPerHead is at most kMaxQueries
  size_t firstBlock, endBlock;
  float *partials;  // [queries, blocks of the row][partialSize]; null where the task has all blocks
  size_t partialBlocks;
};

constexpr size_t kMaxQueries = 64;

// Bytes of a position of a head in the cache.
inline size_t positionBytes(CacheType type, size_t headWidth) {
  if (type == CacheType::kFloat32) return 4 * headWidth;
  if (type == CacheType::kInt4) return roundUp(divideUp(headWidth, kPair) * (kLanes + 2 * sizeof(uint16_t)), 16);
  return type == CacheType::kFloat16 ? 2 * headWidth : headWidth + 16;
}

// ---- States (states.h) ------------------------------------------------------------------------------

struct ShortConvolution;
struct Recurrence;

// ---- Dispatch (dispatch.cpp) ------------------------------------------------------------------------

// The kernels, compiled for one instruction set. Ranges end before their second bound.
struct Kernels {
  const char *name;
  // Rows from which on products are faster in tiles; 0 without such instructions.
  size_t rowsForTiles;
  void (*quantize)(const Quantization &, size_t firstRow, size_t endRow);
  void (*linear8)(const Linear &, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair);
  void (*linear4)(const Linear &, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair);
  // With 8-bit weights in blocks of 32 or 16.
  void (*linearBlocks8)(const Linear &, size_t firstRow, size_t endRow, size_t firstPair, size_t endPair);
  // Products with A of some rows of a slot.
  void (*lowRankReduce)(const LowRank &, size_t slot, size_t firstRow, size_t endRow);
  // Products of these with B: of all rows, some pairs of a part's columns.
  void (*lowRankExpand)(const LowRank &, size_t part, size_t firstPair, size_t endPair);
  // Turns queries, and appends keys and values to the cache: of some heads of the cache, and of the
  // queries that share these.
  void (*append)(const Attention &, const AttentionGroup &, size_t firstToken, size_t endToken,
                 size_t firstHead, size_t endHead);
  void (*attend)(const Attention &, const AttentionTask &);
  // Puts the partial results of tasks together.
  void (*merge)(const Attention &, const AttentionTask &);
  // Sixteen channels, from one on.
  void (*convolve)(const ShortConvolution &, size_t channel);
  // A head of a sequence, and some of its values in pairs of sixteen.
  void (*recur)(const Recurrence &, size_t row, size_t head, size_t firstPair, size_t endPair);
  // The largest number; -infinity where there is none.
  float (*largestOf)(const float *numbers, size_t count);
};

// Bytes of weights that memory is asked for in advance by a product that reads them once: of a column's scale, and in
// blocks.
struct Ahead {
  size_t columns, blocks;
};

// As measured on CPUs of this one's maker.
Ahead bytesAhead();

// The fastest ones that this CPU has, or those that CHAIRLIFT_INSTRUCTIONS names if it has them.
const Kernels &kernels();

}  // namespace chairlift
