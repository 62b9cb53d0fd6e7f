// Inputs that are made up: of random shapes, which fit or, in fuzzing, do not.
#pragma once

#include "../kernels.h"
#include "fake-runtime.h"

namespace chairlift {

static uint64_t state = 1;
static uint32_t draw() {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return uint32_t(state >> 33);
}
static size_t below(size_t end) { return draw() % end; }
static bool maybe(size_t oneIn) { return below(oneIn) == 0; }

// In fuzzing some sizes, numbers, addresses and contents are not what they should be: one in so many; 0
// for none.
static size_t hostility = 0;
static bool isHostile(size_t rarer = 1) { return hostility > 0 && maybe(hostility * rarer); }

static int64_t disturb(int64_t value, size_t rarer = 1) {
  if (!isHostile(rarer)) return value;
  const int64_t others[] = {0,           1,           -1,          value + 1,       value - 1,       2 * value,
                            value / 2,   -value,      65536,       65537,           1 << 24,         (1 << 24) + 1,
                            INT32_MAX,   1ll << 31,   1ll << 32,   value + (1ll << 32), -(1ll << 40), INT64_MAX,
                            INT64_MIN,   1ll << 62};
  return others[below(sizeof others / sizeof *others)];
}

static float disturb(float value) {
  if (!isHostile()) return value;
  const float others[] = {0, -0.0f, -1, 1e-45f, 1e30f, 3.4e38f, -3.4e38f, __builtin_nanf(""), __builtin_inff(),
                          -__builtin_inff()};
  return others[below(10)];
}

// Fuzzing takes many small cases: what is found in large ones is nearly always in small ones, too.
static size_t upTo(size_t end) { return below(hostility > 0 && !maybe(8) && end > 8 ? end / 8 : end); }

// Random bytes, of which buffers take some: the same ones for each case, whichever comes first.
static void fill(uint8_t *to, size_t bytes) {
  static uint8_t all[1 << 16];
  static bool isMade = false;
  if (!isMade) {
    const uint64_t ofCase = state;
    state = 1;
    for (uint8_t &byte : all) byte = uint8_t(draw());
    state = ofCase;
    isMade = true;
  }
  while (bytes > 0) {
    const size_t from = below(sizeof all), most = sizeof all - from, count = bytes < most ? bytes : most;
    memcpy(to, all + from, count);
    to += count;
    bytes -= count;
  }
}

// Words that mean something in numbers of some type.
static void spoil(Buffer &buffer) {
  if (!isHostile() || buffer.bytes == 0) return;
  if (maybe(4)) return fill(buffer.data, buffer.bytes);
  const uint32_t words[] = {0,          0x80000000, 0x7fc00000, 0x7f800000, 0xff800000, 0x7f7fffff,
                            0xff7fffff, 1,          0xffffffff, 0x7fffffff, 0x7c007c00, 0x7e00fc00};
  const uint32_t word = words[below(12)];
  for (size_t i = 0; i + 4 <= buffer.bytes; i += 4 * (1 + below(maybe(2) ? 2 : 50))) {
    memcpy(buffer.data + i, &word, sizeof word);
  }
}

// Lets one thing fail in a case, a call or an allocation.
static void drawFaults() {
  const size_t kind = below(4), count = 1 + below(kind == 1 ? 3 : 40);
  if (kind == 0) faults.call = count;
  else if (kind == 1) faults.allocation = count;
  else if (kind == 2) faults.missing = int(below(5));
  else faults.hasNullWhereEmpty = true;
}

static size_t disturbBytes(size_t bytes) {
  if (!isHostile()) return bytes;
  const size_t others[] = {0, 1, 2, 4, 8, 64, bytes + 1, bytes + 4, bytes + 64, bytes ? bytes - 1 : 0,
                           bytes > 4 ? bytes - 4 : 0, bytes * 2, bytes / 2, below(1 << 20)};
  return others[below(14)];
}

// Adds an input; a node that leaves it out has none.
static Buffer &addInput(FakeContext &context, size_t bytes, bool isThere = true) {
  Buffer &buffer = context.inputs[context.numInputs++];
  if (isHostile(2)) isThere = !isThere;
  if (!isThere) return buffer;
  // Files say where in them a tensor is, and they are mapped as they are.
  buffer.allocate(disturbBytes(bytes), isHostile(2) ? 1 + below(8) : 0);
  fill(buffer.data, buffer.bytes);
  return buffer;
}

static void addFloats(FakeContext &context, size_t count, float scale, bool isThere = true) {
  Buffer &buffer = addInput(context, count * sizeof(float), isThere);
  for (size_t i = 0; i + 4 <= buffer.bytes; i += 4) {
    const float value = (float(draw() % 20001) / 10000 - 1) * scale;
    memcpy(buffer.data + i, &value, sizeof value);
  }
  spoil(buffer);
}

static void addHalves(FakeContext &context, size_t count, bool isThere = true) {
  Buffer &buffer = addInput(context, count * 2, isThere);
  for (size_t i = 0; i + 2 <= buffer.bytes; i += 2) {
    // From 2^-9 to about 4, of either sign.
    const uint16_t half = uint16_t(draw() % 0x2c00 + 0x1800 + (draw() % 2) * 0x8000);
    memcpy(buffer.data + i, &half, sizeof half);
  }
  spoil(buffer);
}

static void addAttribute(FakeInfo &info, const char *name, int64_t value, float asFloat = 0) {
  if (isHostile(4)) return;
  info.names[info.count] = name;
  info.ints[info.count] = disturb(value);
  info.floats[info.count++] = disturb(asFloat);
}

static void makeLinear(FakeInfo &info, FakeContext &context, bool is4Bit, bool hasBlocks) {
  const size_t sizes[] = {1, 3, 16, 63, 64, 65, 100, 128, 200, 300};
  const size_t rows = maybe(6) ? 120 + below(20) : 1 + upTo(20), in = sizes[upTo(10)], out = 1 + upTo(100);
  const bool findsBest = maybe(3);
  const size_t activation = findsBest ? 0 : below(3), padded = roundUp(in, kBlock);
  const size_t pairs = divideUp(out, activation ? kLanes : kPair);
  addAttribute(info, "in_features", int64_t(in));
  addAttribute(info, "out_features", int64_t(out));
  addAttribute(info, "activation", int64_t(activation));
  addAttribute(info, "epsilon", 0, 1e-5f);
  addAttribute(info, "step", 0, maybe(3) ? 0.02f : 0.0f);
  addAttribute(info, "finds_best", findsBest);
  const size_t block = (is4Bit ? kBlock : kSmallBlock) / (1 + below(2));
  if (hasBlocks) addAttribute(info, "block_size", int64_t(block));
  addFloats(context, rows * in, maybe(10) ? 1e-20f : 3.0f);
  addInput(context, pairs * kPair * padded / (is4Bit ? 2 : 1));
  if (hasBlocks) addHalves(context, pairs * kPair * padded / block);
  else addFloats(context, pairs * kPair, 0.01f);
  addFloats(context, in, 2.0f, maybe(2));
  addFloats(context, pairs * kPair, 1.0f, maybe(2));
  addFloats(context, rows * out, 5.0f, !findsBest && maybe(2));
  addInput(context, sizeof(int32_t), findsBest);
  Buffer &isWanted = context.inputs[context.numInputs - 1];
  if (findsBest && isWanted.bytes > 0) memset(isWanted.data, int(below(2)), isWanted.bytes);
  addHalves(context, pairs * kPair * padded / block, hasBlocks && maybe(2));
  // One after the other: compilers differ in the order of arguments.
  const bool hasAdded = maybe(2), isEmpty = maybe(2);
  addFloats(context, isEmpty ? 0 : rows * out * (activation ? 2 : 1), 2.0f, hasAdded);
  cacheElement = 4;
  for (int &bound : context.bound) bound = -1;
}

static void makeBest(FakeInfo &info, FakeContext &context) {
  const size_t rows = 1 + below(4), columns = 1 + upTo(maybe(3) ? 5000 : 40);
  addAttribute(info, "columns", int64_t(columns));
  addFloats(context, rows * columns, 1.0f);
  // Some equals, and some that are not numbers.
  Buffer &logits = context.inputs[0];
  const float others[] = {1.0f, __builtin_nanf(""), __builtin_inff(), -__builtin_inff()};
  const size_t kinds = 1 + below(4);
  for (size_t i = 0; i + 4 <= logits.bytes; i += 4 * (1 + below(50))) {
    memcpy(logits.data + i, &others[below(kinds)], sizeof(float));
  }
  cacheElement = 4;
  for (int &bound : context.bound) bound = -1;
}

static void makeRows(FakeInfo &info, FakeContext &context, bool hasBlocks) {
  const size_t sizes[] = {1, 3, 16, 63, 64, 65, 100, 128, 200, 300};
  const size_t count = 1 + upTo(20);
  const size_t features = sizes[upTo(10)], rows = 1 + upTo(100);
  const size_t places = roundUp(rows, kPair), padded = roundUp(features, kBlock);
  const size_t bits = hasBlocks ? 4 << below(2) : 8, block = hasBlocks ? kBlock >> below(3) : kBlock;
  addAttribute(info, "in_features", int64_t(features));
  addAttribute(info, "out_features", int64_t(rows));
  if (hasBlocks) addAttribute(info, "bits", int64_t(bits));
  if (hasBlocks) addAttribute(info, "block_size", int64_t(block));
  addInput(context, count * sizeof(int64_t));
  Buffer &ids = context.inputs[0];
  for (size_t i = 0; i + 8 <= ids.bytes; i += 8) {
    const int64_t id = disturb(int64_t(below(rows)));
    memcpy(ids.data + i, &id, sizeof id);
  }
  addInput(context, places * padded * bits / 8);
  if (hasBlocks) addHalves(context, places * padded / block);
  else addFloats(context, places, 0.01f);
  addHalves(context, places * padded / block, hasBlocks && maybe(2));
  cacheElement = 4;
  for (int &bound : context.bound) bound = -1;
}

// Shape of the case that makeLowRank made last.
static LowRankShape lowRankShape;

static void makeLowRank(FakeInfo &info, FakeContext &context) {
  const size_t sizes[] = {1, 3, 16, 63, 64, 100, 200};
  const size_t in = sizes[below(7)], rank = 1 + upTo(40), parts = 1 + below(kMaxParts), slots = below(5);
  const size_t rows = maybe(6) ? 60 + below(20) : 1 + upTo(20);
  LowRankShape &shape = lowRankShape;
  shape.features = in;
  shape.paddedRank = roundUp(rank, kLanes);
  shape.parts = parts;
  addAttribute(info, "in_features", int64_t(in));
  addAttribute(info, "max_rank", int64_t(rank));
  addAttribute(info, "epsilon", 0, 1e-5f);
  const char *const names[] = {"columns", "second_columns", "third_columns"};
  for (size_t part = 0; part < parts; part++) {
    shape.partColumns[part] = 1 + upTo(100);
    addAttribute(info, names[part], int64_t(shape.partColumns[part]));
  }
  addFloats(context, rows * in, 3.0f);
  addFloats(context, rows * slots, 2.0f);
  Buffer &mask = context.inputs[1];
  const bool isIdle = maybe(5);
  for (size_t i = 0; i + 4 <= mask.bytes; i += 4) {
    if (isIdle || !maybe(3)) memset(mask.data + i, 0, 4);
  }
  addHalves(context, slots * shape.slotBytes() / 2);
  Buffer &pool = context.inputs[2];
  for (size_t slot = 0; (slot + 1) * shape.slotBytes() <= pool.bytes; slot++) {
    for (size_t part = 0; part < kMaxParts; part++) {
      const int32_t own = int32_t(disturb(maybe(4) ? 0 : int64_t(1 + below(rank))));
      memcpy(pool.data + slot * shape.slotBytes() + 4 * part, &own, sizeof own);
    }
  }
  addFloats(context, in, 2.0f, maybe(2));
  cacheElement = 4;
  for (int &bound : context.bound) bound = -1;
}

static void fill32(Buffer &buffer, const int32_t *values) { memcpy(buffer.data, values, buffer.bytes); }

// With numbers of four bits, or of `element` bytes.
static void makeAttention(FakeInfo &info, FakeContext &context, size_t element, bool isPacked = false) {
  const bool isLargest = hostility > 0 && maybe(64);
  const size_t kvHeads = isLargest ? 1 : 1 + below(3), perHead = isLargest ? kMaxQueries : 1 + below(5), heads = kvHeads * perHead;
  const size_t headDim = isLargest ? kMaxHeadDim : 2 * (1 + upTo(48)), headWidth = roundUp(headDim, kLanes);
  const size_t blocks = divideUp(headWidth, kPair);
  const size_t position = isPacked ? positionBytes(CacheType::kInt4, headWidth) : element == 1 ? headWidth + 16 : headWidth;
  const size_t positions = hostility > 0 ? 1 + upTo(1000) : 1000, numGroups = 1 + below(2), norms = below(3);
  addAttribute(info, "num_heads", int64_t(heads));
  addAttribute(info, "kv_num_heads", int64_t(kvHeads));
  addAttribute(info, "head_dim", int64_t(headDim));
  addAttribute(info, "local_window_size", maybe(2) ? int64_t(1 + below(200)) : 0);
  addAttribute(info, "norms_all_heads", norms == 2);
  addAttribute(info, "softcap", 0, maybe(3) ? 5.0f : 0.0f);
  addAttribute(info, "epsilon", 0, 1e-5f);
  size_t batches[2], lengths[2], tokens = 0;
  // Where the positions of each token's row end, and its own.
  int64_t most[3 * 41 * 2], own[3 * 41 * 2];
  size_t at = 0;
  for (size_t g = 0; g < numGroups; g++) {
    batches[g] = 1 + below(3);
    lengths[g] = isLargest || maybe(2) ? 1 : 1 + upTo(40);
    tokens += batches[g] * lengths[g];
  }
  addFloats(context, tokens * (heads + 2 * kvHeads) * headDim, 2.0f);
  addFloats(context, positions * headDim / 2, 0.4f);
  addFloats(context, positions * headDim / 2, 0.4f);
  addFloats(context, (norms == 2 ? heads : 1) * headDim, 1.5f, norms > 0);
  addFloats(context, (norms == 2 ? kvHeads : 1) * headDim, 1.5f, norms > 0);
  addFloats(context, heads, 1.0f, maybe(3));
  for (int &bound : context.bound) bound = -1;
  for (size_t g = 0; g < numGroups; g++) {
    const bool isFresh = maybe(2);
    const size_t capacity = roundUp(lengths[g] + (isFresh ? 0 : upTo(isLargest ? 8 : maybe(3) ? 900 : 200)), 16);
    const size_t cacheBytes = batches[g] * kvHeads * capacity * position * element;
    addInput(context, batches[g] * lengths[g] * sizeof(int64_t));
    for (size_t i = 0; i < 2; i++) {
      if (element == 4) addFloats(context, cacheBytes / 4, 2.0f);
      else if (element == 2) addHalves(context, cacheBytes / 2);
      else addInput(context, cacheBytes);
      context.bound[1 + 2 * g + i] = maybe(4) ? -1 : int(context.numInputs - 1);
      // Scales that are not numbers would be as good as any: but then nothing could be compared.
      Buffer &cache = context.inputs[context.numInputs - 1];
      const size_t tile = 16 * position;
      for (size_t at = 0; isPacked && at + tile <= cache.bytes; at += tile) {
        for (size_t p = 0; p < 2 * 16 * blocks; p++) {
          const uint16_t half = uint16_t(draw() % 0x2c00 + 0x1800 + (p < 16 * blocks ? 0 : draw() % 2 * 0x8000));
          memcpy(cache.data + at + 16 * 16 * blocks + 2 * p, &half, sizeof half);
        }
      }
      for (size_t at = 0; element == 1 && !isPacked && at + tile <= cache.bytes; at += tile) {
        for (size_t p = 0; p < 16; p++) {
          const float scale = 0.01f * float(1 + below(100));
          memcpy(cache.data + at + 16 * headWidth + 4 * p, &scale, sizeof scale);
        }
      }
      if (element == 1) spoil(cache);
    }
    int32_t ends[4], longest = 0;
    for (size_t row = 0; row < batches[g]; row++) {
      const size_t end = isFresh ? 1 + below(lengths[g]) : lengths[g] + below(capacity - lengths[g] + 1);
      const size_t given = isFresh && row == 0 ? lengths[g] : end;
      ends[row] = int32_t(disturb(int64_t(given) - 1));
      longest = ends[row] >= longest && ends[row] < INT32_MAX ? ends[row] + 1 : longest;
    }
    addInput(context, batches[g] * sizeof(int32_t));
    Buffer &last = context.inputs[context.numInputs - 1];
    if (last.bytes == batches[g] * sizeof(int32_t)) fill32(last, ends);
    addInput(context, sizeof(int32_t));
    longest = int32_t(disturb(int64_t(longest)));
    Buffer &total = context.inputs[context.numInputs - 1];
    if (total.bytes == sizeof longest) fill32(total, &longest);
    for (size_t token = 0; token < batches[g] * lengths[g]; token++, at++) {
      const int64_t length = int64_t(lengths[g]);
      most[at] = longest == length ? length : int64_t(ends[token / lengths[g]]) + 1;
      own[at] = most[at] - length + int64_t(token % lengths[g]) + 1;
    }
  }
  // Groups that are left out.
  if (maybe(2)) {
    while (context.numInputs < 6 + 2 * 5) context.numInputs++;
    addInput(context, tokens * sizeof(int32_t));
    Buffer &seen = context.inputs[context.numInputs - 1];
    for (size_t i = 0; i < tokens && 4 * i + 4 <= seen.bytes; i++) {
      const int64_t span = most[i] - own[i] + 1;
      const bool seesMore = !maybe(3) && span > 0;
      const int32_t end = int32_t(disturb(seesMore ? own[i] + int64_t(below(size_t(span))) : 0));
      memcpy(seen.data + 4 * i, &end, sizeof end);
    }
  }
  if (maybe(2)) {
    while (context.numInputs < 6 + 2 * 5 + 1) context.numInputs++;
    const size_t count = below(tokens + 1);
    addInput(context, count * sizeof(int64_t));
    Buffer &wanted = context.inputs[context.numInputs - 1];
    for (size_t i = 0; 8 * i + 8 <= wanted.bytes; i++) {
      const int64_t place = disturb(int64_t(below(tokens)));
      memcpy(wanted.data + 8 * i, &place, sizeof place);
    }
  }
  cacheElement = element;
}

}  // namespace chairlift
