// Attention, AttentionFloat16, AttentionInt8 and AttentionInt4, by the type of the cache; see kernels.h.
//
// Inputs: qkv float [tokens, (heads + 2 kv_heads) head_dim]; cos, sin float [positions, head_dim / 2];
// optional: query_norm, key_norm float [head_dim] or of all heads; sinks float [heads]; then for one or
// two groups of rows, whose tokens lie one after the other: input_ids int64 [batch, seq], for its shape;
// past key and value [batch, kv_heads, capacity, position]; seqlens_k int32 [batch], each row's length
// after this step minus one; total_sequence_length int32 [], the longest of those lengths.
// Last, and optional: ends int32 [tokens], where the positions end that a token sees, if that is after its own;
// 0 for others; wanted int64 [n], places of the tokens whose output is read, that of others is 0.
// Outputs: float [tokens, heads * head_dim], and the cache of each group, which is appended to in place
// where it is bound to the past's own memory.
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels.h"
#include "runtime.h"

namespace chairlift {

struct AttentionKernel {
  const Kernels *kernels;
  size_t heads, kvHeads, headDim, window;
  bool normsAllHeads;
  float softcap, epsilon;
};

constexpr size_t kFirstGroup = 6, kGroupInputs = 5, kEnds = kFirstGroup + kMaxGroups * kGroupInputs,
                 kWanted = kEnds + 1;
// Values that a task appends at least.
constexpr size_t kAppendValues = 16384;
// With fewer tasks than this, those over a long context are split.
constexpr size_t kManyTasks = 32;

static Status *createAttention(const CustomOp *, const void *, const Info *info, void **kernel) {
  const int64_t heads = attribute(info, "num_heads", int64_t(0));
  const int64_t kvHeads = attribute(info, "kv_num_heads", int64_t(0));
  const int64_t headDim = attribute(info, "head_dim", int64_t(0));
  const int64_t window = attribute(info, "local_window_size", int64_t(0));
  if (kvHeads < 1 || heads < kvHeads || heads > 4096 || heads % kvHeads != 0) {
    return failure("num_heads is not a multiple of kv_num_heads, up to 4096");
  }
  if (heads / kvHeads > int64_t(kMaxQueries)) return failure("more than 64 heads share one of the cache");
  if (headDim < 2 || headDim % 2 != 0 || headDim > int64_t(kMaxHeadDim)) {
    return failure("head_dim is not an even number up to 512");
  }
  if (window < 0) return failure("local_window_size is negative");
  void *memory = malloc(sizeof(AttentionKernel));
  if (!memory) return failure("out of memory");
  *kernel = new (memory) AttentionKernel{&kernels(),
                                         size_t(heads),
                                         size_t(kvHeads),
                                         size_t(headDim),
                                         size_t(window),
                                         attribute(info, "norms_all_heads", int64_t(0)) != 0,
                                         attribute(info, "softcap", 0.0f),
                                         attribute(info, "epsilon", 1e-6f)};
  return nullptr;
}

// Binds a group's cache, and checks that no position lies outside of it, or of the rotary tables.
static void readGroup(Call &call, Attention &attention, size_t positions, size_t tokens) {
  const size_t index = attention.numGroups, input = kFirstGroup + index * kGroupInputs;
  const Input ids = call.input(input, sizeof(int64_t)), key = call.input(input + 1), value = call.input(input + 2);
  const Input lengths = call.input(input + 3), total = call.input(input + 4);
  if (index > 0 && !ids.data && !key.data) return;
  if (!call.check(ids.data && key.data && value.data && lengths.data && total.bytes == 4,
                  "a group lacks an input")) {
    return;
  }
  AttentionGroup &group = attention.groups[index];
  const size_t position = positionBytes(attention.cacheType, attention.headWidth());
  group.firstToken = tokens;
  group.batch = lengths.bytes / sizeof(int32_t);
  if (!call.check(group.batch > 0 && ids.bytes / sizeof(int64_t) % group.batch == 0,
                  "input_ids have no whole rows")) {
    return;
  }
  group.tokens = ids.bytes / sizeof(int64_t) / group.batch;
  group.capacity = key.bytes / (group.batch * attention.kvHeads * position);
  group.lengths = lengths.as<int32_t>();
  const int32_t longest = *total.as<int32_t>();
  group.isFresh = longest >= 0 && size_t(longest) == group.tokens;
  call.check(group.tokens > 0, "a group has no tokens");
  call.check(group.capacity % kLanes == 0, "the cache has not tiles of 16 positions");
  call.check(key.bytes == value.bytes && key.bytes == group.batch * attention.kvHeads * group.capacity * position,
             "the cache is of another shape");
  for (size_t row = 0; row < group.batch && !call.status; row++) {
    const int64_t length = int64_t(group.lengths[row]) + 1;
    const int64_t end = group.isFresh ? int64_t(group.tokens) : length;
    call.check(length >= 1 && length <= longest && (group.isFresh || length >= int64_t(group.tokens)) &&
                   end <= int64_t(group.capacity) && end <= int64_t(positions),
               "a row's length does not fit its tokens, the cache or the rotary tables");
  }
  const int64_t last = int64_t(position / (attention.cacheType == CacheType::kFloat32   ? 4
                                           : attention.cacheType == CacheType::kFloat16 ? 2
                                                                                        : 1));
  const int64_t dims[] = {int64_t(group.batch), int64_t(attention.kvHeads), int64_t(group.capacity), last};
  group.keys = call.output(1 + 2 * index, dims, 4);
  group.values = call.output(2 + 2 * index, dims, 4);
  if (call.status) return;
  if (group.keys != key.data) memcpy(group.keys, key.data, key.bytes);
  if (group.values != value.data) memcpy(group.values, value.data, value.bytes);
  attention.numGroups++;
}

// Tasks of one group: of each row and head of the cache, tokens a few at a time.
struct GroupTasks {
  size_t tokensPerTask, perRow, count;
  // Parts that a task's blocks are split into, and the blocks of the longest row.
  size_t parts, blocks;

  GroupTasks(const Attention &attention, const AttentionGroup &group) {
    tokensPerTask = kMaxQueries / attention.queriesPerHead();
    if (tokensPerTask > 16) tokensPerTask = 16;
    if (tokensPerTask > group.tokens) tokensPerTask = group.tokens;
    perRow = divideUp(group.tokens, tokensPerTask);
    count = group.batch * attention.kvHeads * perRow;
    size_t longest = 0;
    for (size_t row = 0; row < group.batch; row++) {
      const size_t end = group.past(row) + group.tokens;
      longest = end > longest ? end : longest;
    }
    blocks = divideUp(longest, kContextBlock);
    parts = count >= kManyTasks ? 1 : kManyTasks / count;
    if (parts > blocks / 2) parts = blocks / 2;
    if (parts < 1) parts = 1;
  }

  size_t partialFloats(const Attention &attention) const {
    if (parts == 1) return 0;
    return count * tokensPerTask * attention.queriesPerHead() * blocks * attention.partialSize();
  }

  // The longest tasks first: those of the last tokens.
  AttentionTask task(const Attention &attention, const AttentionGroup &group, size_t index, size_t part,
                     float *partials) const {
    AttentionTask task{};
    const size_t tile = perRow - 1 - index % perRow, head = index / perRow;
    task.group = &group;
    task.row = head / attention.kvHeads;
    task.kvHead = head % attention.kvHeads;
    task.firstToken = tile * tokensPerTask;
    const size_t rest = group.tokens - task.firstToken;
    task.numTokens = rest < tokensPerTask ? rest : tokensPerTask;
    const size_t first = group.past(task.row) + task.firstToken + 1;
    const size_t start = attention.window > 0 && first > attention.window ? first - attention.window : 0;
    const size_t begin = start / kContextBlock;
    size_t last = 0;
    for (size_t token = task.firstToken; token < task.firstToken + task.numTokens; token++) {
      const size_t seen = attention.endOf(group, task.row, token);
      last = seen > last ? seen : last;
    }
    const size_t end = divideUp(last, kContextBlock);
    task.firstBlock = begin + (end - begin) * part / parts;
    task.endBlock = begin + (end - begin) * (part + 1) / parts;
    task.partialBlocks = blocks;
    if (partials) {
      task.partials = partials + index * tokensPerTask * attention.queriesPerHead() * blocks * attention.partialSize();
    }
    return task;
  }
};

// Takes where positions end that tokens see, and checks that none are after those of its row.
static void readEnds(Call &call, Attention &attention, size_t tokens) {
  const Input ends = call.input(kEnds);
  if (!ends.data || !call.check(ends.bytes == tokens * sizeof(int32_t), "there is not an end for each token")) return;
  attention.ends = ends.as<int32_t>();
  for (size_t index = 0; index < attention.numGroups; index++) {
    const AttentionGroup &group = attention.groups[index];
    for (size_t token = 0; token < group.batch * group.tokens && !call.status; token++) {
      const int64_t end = attention.ends[group.firstToken + token];
      const size_t most = group.past(token / group.tokens) + group.tokens;
      call.check(end >= 0 && end <= int64_t(most), "a token sees more than its row has");
    }
  }
}

// Checks the places of the tokens whose output is read; all if they are left out.
static void checkWanted(Call &call, const Input &wanted, size_t tokens) {
  const int64_t *places = wanted.as<int64_t>();
  for (size_t i = 0; i < wanted.bytes / sizeof(int64_t) && !call.status; i++) {
    call.check(places[i] >= 0 && places[i] < int64_t(tokens), "a wanted place is not one of the tokens");
  }
}

// Whether any output of a task is read.
static bool isWanted(const bool *wanted, const AttentionTask &task) {
  const AttentionGroup &group = *task.group;
  const size_t first = group.firstToken + task.row * group.tokens + task.firstToken;
  return !wanted || memchr(wanted + first, true, task.numTokens) != nullptr;
}

// @param wanted by token, whether its output is read; null if all are
static void computeGroup(Call &call, const Kernels &kernels, const Attention &attention, size_t index,
                         const bool *wanted) {
  const AttentionGroup &group = attention.groups[index];
  const size_t tokens = group.batch * group.tokens;
  const GroupTasks tasks(attention, group);
  float *partials = tasks.parts > 1 ? attention.partials : nullptr;
  // A row's single token is appended by the tasks that attend, each for its head.
  const bool appendsFirst = group.tokens > 1 || tasks.parts > 1;
  const size_t perAppend = divideUp(kAppendValues, attention.width());
  call.parallel(appendsFirst ? divideUp(tokens, perAppend) : 0, [&](size_t task) {
    const size_t first = task * perAppend, end = first + perAppend;
    kernels.append(attention, group, first, end < tokens ? end : tokens, 0, attention.kvHeads);
  });
  // Neighbours go to the same thread: while it computes one it asks for the next one's memory.
  const size_t count = tasks.count * tasks.parts, together = divideUp(count, kManyTasks);
  call.parallel(divideUp(count, together), [&](size_t several) {
    const size_t end = (several + 1) * together;
    for (size_t i = several * together; i < end && i < count; i++) {
      const AttentionTask task = tasks.task(attention, group, i / tasks.parts, i % tasks.parts, partials);
      if (!appendsFirst) {
        kernels.append(attention, group, task.row, task.row + 1, task.kvHead, task.kvHead + 1);
      }
      if (isWanted(wanted, task)) kernels.attend(attention, task);
    }
  });
  if (!partials) return;
  call.parallel(tasks.count, [&](size_t i) {
    AttentionTask whole = tasks.task(attention, group, i, 0, partials);
    whole.endBlock = tasks.task(attention, group, i, tasks.parts - 1, partials).endBlock;
    if (isWanted(wanted, whole)) kernels.merge(attention, whole);
  });
}

static Status *computeAttention(void *of, Context *context, CacheType type) {
  const AttentionKernel &kernel = *static_cast<AttentionKernel *>(of);
  Call call(context);
  const Input qkv = call.input(0), cos = call.input(1), sin = call.input(2);
  const Input queryNorm = call.input(3), keyNorm = call.input(4), sinks = call.input(5);
  Attention attention{};
  attention.heads = kernel.heads;
  attention.kvHeads = kernel.kvHeads;
  attention.headDim = kernel.headDim;
  attention.window = kernel.window;
  attention.softcap = kernel.softcap;
  attention.cacheType = type;
  attention.epsilon = kernel.epsilon;
  attention.normsAllHeads = kernel.normsAllHeads;
  attention.qkv = qkv.as<float>();
  attention.cos = cos.as<float>();
  attention.sin = sin.as<float>();
  attention.queryNorm = queryNorm.as<float>();
  attention.keyNorm = keyNorm.as<float>();
  attention.sinks = sinks.as<float>();
  const size_t positions = cos.bytes / (kernel.headDim / 2 * sizeof(float));
  const size_t headBytes = kernel.headDim * sizeof(float);
  const size_t queryBytes = kernel.normsAllHeads ? kernel.heads * headBytes : headBytes;
  const size_t keyBytes = kernel.normsAllHeads ? kernel.kvHeads * headBytes : headBytes;
  call.check(cos.bytes == sin.bytes && cos.bytes == positions * kernel.headDim / 2 * sizeof(float),
             "the rotary tables are of another shape");
  call.check(!queryNorm.data == !keyNorm.data, "one of the norms is left out");
  call.check(!queryNorm.data || (queryNorm.bytes == queryBytes && keyNorm.bytes == keyBytes),
             "the norms are of another size");
  call.check(!sinks.data || sinks.bytes == kernel.heads * sizeof(float), "there is not a sink for each head");
  size_t tokens = 0;
  for (size_t group = 0; group < kMaxGroups && !call.status && attention.numGroups == group; group++) {
    readGroup(call, attention, positions, tokens);
    if (attention.numGroups > group) tokens += attention.groups[group].batch * attention.groups[group].tokens;
  }
  call.check(qkv.bytes == tokens * attention.width() * sizeof(float), "qkv has not a row for each token");
  readEnds(call, attention, tokens);
  const Input wanted = call.input(kWanted, sizeof(int64_t));
  if (!call.status) checkWanted(call, wanted, tokens);
  const int64_t dims[] = {int64_t(tokens), int64_t(kernel.heads * kernel.headDim)};
  float *output = static_cast<float *>(call.output(0, dims, 2));
  if (call.status) return call.status;

  size_t partials = 0;
  for (size_t group = 0; group < attention.numGroups; group++) {
    const size_t needed = GroupTasks(attention, attention.groups[group]).partialFloats(attention);
    partials = needed > partials ? needed : partials;
  }
  const size_t numQueries = tokens * kernel.heads * kernel.headDim, headWidth = attention.headWidth();
  const bool isPadded = headWidth != kernel.headDim;
  const size_t padded = isPadded ? tokens * kernel.heads * headWidth : 0;
  Scratch scratch(Scratch::sizeOf<float>(numQueries) + Scratch::sizeOf<float>(partials) +
                  Scratch::sizeOf<float>(padded) + Scratch::sizeOf<bool>(wanted.isGiven ? tokens : 0));
  if (!call.check(scratch.memory != nullptr, "out of memory")) return call.status;
  attention.queries = scratch.take<float>(numQueries);
  attention.partials = scratch.take<float>(partials);
  attention.output = isPadded ? scratch.take<float>(padded) : output;
  bool *areWanted = wanted.isGiven ? scratch.take<bool>(tokens) : nullptr;
  if (areWanted) {
    memset(areWanted, 0, tokens);
    for (size_t i = 0; i < wanted.bytes / sizeof(int64_t); i++) areWanted[wanted.as<int64_t>()[i]] = true;
  }
  for (size_t group = 0; group < attention.numGroups; group++) {
    computeGroup(call, *kernel.kernels, attention, group, areWanted);
  }
  for (size_t head = 0; isPadded && head < tokens * kernel.heads; head++) {
    memcpy(output + head * kernel.headDim, attention.output + head * headWidth, headBytes);
  }
  const size_t tokenWidth = kernel.heads * kernel.headDim;
  for (size_t token = 0; areWanted && token < tokens; token++) {
    if (!areWanted[token]) memset(output + token * tokenWidth, 0, tokenWidth * sizeof(float));
  }
  return call.status;
}

template <CacheType Type>
static constexpr CustomOp attentionOperator() {
  constexpr ElementType kCache =
      Type == CacheType::kFloat32 ? kFloat : Type == CacheType::kFloat16 ? kHalf : chairlift::kInt8;
  CustomOp op = plainOperator();
  op.getName = [](const CustomOp *) {
    return Type == CacheType::kFloat32   ? "Attention"
           : Type == CacheType::kFloat16 ? "AttentionFloat16"
           : Type == CacheType::kInt8    ? "AttentionInt8"
                                         : "AttentionInt4";
  };
  op.getInputCount = [](const CustomOp *) { return kWanted + 1; };
  op.getInputType = [](const CustomOp *, size_t i) {
    if (i < kFirstGroup) return int(kFloat);
    if (i == kEnds) return int(kInt32);
    if (i == kWanted) return int(kInt64);
    const ElementType types[kGroupInputs] = {kInt64, kCache, kCache, kInt32, kInt32};
    return int(types[(i - kFirstGroup) % kGroupInputs]);
  };
  op.getInputCharacteristic = [](const CustomOp *, size_t i) {
    const bool isRequired = i < 3 || (i >= kFirstGroup && i < kFirstGroup + kGroupInputs);
    return int(isRequired ? kRequired : kOptional);
  };
  op.getOutputCount = [](const CustomOp *) { return 1 + 2 * kMaxGroups; };
  op.getOutputType = [](const CustomOp *, size_t i) { return int(i == 0 ? kFloat : kCache); };
  op.getOutputCharacteristic = [](const CustomOp *, size_t i) { return int(i < 3 ? kRequired : kOptional); };
  op.createKernelV2 = createAttention;
  op.computeV2 = [](void *of, Context *context) { return computeAttention(of, context, Type); };
  return op;
}

const CustomOp kAttention = attentionOperator<CacheType::kFloat32>();
const CustomOp kAttentionFloat16 = attentionOperator<CacheType::kFloat16>();
const CustomOp kAttentionInt8 = attentionOperator<CacheType::kInt8>();
const CustomOp kAttentionInt4 = attentionOperator<CacheType::kInt4>();

}  // namespace chairlift
