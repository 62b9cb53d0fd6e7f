import type { FlagSpec } from './flag-spec.ts';
import {
  assignments,
  byteSize,
  count,
  decimal,
  duration,
  oneOf,
  readable,
  seconds,
  text,
  threadCount,
  tokenCount,
} from './values.ts';

const LENGTH = 'a whole number of at least 2, such as 32768, 32k (32000) or 32K (32768)';

/** Tokens, or in vLLM's and llama-server's words the model's own limit. */
const modelLength = readable(`${LENGTH}, or auto`, (given) => {
  if (/^(auto|0|-1)$/i.test(given)) return 'auto';
  const length = tokenCount(2).safeParse(given);
  return length.success ? length.data : undefined;
}).transform((length) => (length === 'auto' ? undefined : length));

const NO_FP8 = 'there is no fp8 here: use int8, which is as small';
const FOREIGN_CACHE_TYPES = new Map([
  ['fp8', NO_FP8],
  ['fp8_e4m3', NO_FP8],
  ['fp8_e5m2', NO_FP8],
  ['bfloat16', 'there is no bfloat16 here: use float16, which is as small, or float32'],
  ['f16', 'use float16'],
  ['f32', 'use float32'],
  ['q8_0', 'use int8'],
  ['q4_0', 'use int4'],
  ['q4_1', 'use int4'],
]);

/** How many sequences the engine runs, how fast, and what it remembers. */
export const ENGINE_FLAGS = {
  maxModelLen: {
    flags: '--max-model-len <tokens>',
    short: 'c',
    description: 'longest prompt plus output',
    schema: modelLength.optional(),
    isBasic: true,
    defaultText: "the model's own",
  },
  maxNumSeqs: {
    flags: '--max-num-seqs <n>',
    description: 'sequences that run at once: slots of the KV cache',
    schema: count(1),
    isBasic: true,
    default: 32,
  },
  kvCacheMemory: {
    flags: '--kv-cache-memory <size>',
    description: 'memory of the KV cache',
    schema: byteSize.optional(),
    isBasic: true,
    defaultText: 'half of the memory that the weights leave',
  },
  maxNumBatchedTokens: {
    flags: '--max-num-batched-tokens <n>',
    description: 'most tokens that one step computes; longer prompts take several steps',
    schema: tokenCount(1).optional(),
    defaultText: '512, or --max-num-seqs if larger',
  },
  kvCacheDtype: {
    flags: '--kv-cache-dtype <name>',
    description:
      'number format of the KV cache: auto, float32, float16, int8, or int4; all but float32 on the CPU, float16 and int4 with our own kernels',
    schema: oneOf(['auto', 'float32', 'float16', 'int8', 'int4'], FOREIGN_CACHE_TYPES),
    default: 'auto',
  },
  prefixCaching: {
    flags: '--prefix-caching',
    description: 'find the beginning of a prompt again that an earlier one had, and not compute it',
    default: true,
  },
  sharePrefixCache: {
    flags: '--share-prefix-cache',
    description: 'share the prefix cache among clients with different keys',
  },
  prefixCacheMemory: {
    flags: '--prefix-cache-memory <size>',
    description: 'memory beside the KV cache for prefixes that leave it (CPU)',
    schema: byteSize,
    default: 0,
    defaultText: 'none',
  },
  prefixCacheDir: {
    flags: '--prefix-cache-dir <folder>',
    description:
      'folder for prefixes that leave the KV cache, shared by restarts and replicas (CPU)',
    schema: text.optional(),
    defaultText: 'none',
  },
  prefixCacheSize: {
    flags: '--prefix-cache-size <size>',
    description: 'disk for that folder, all models and servers together',
    schema: byteSize,
    default: 10 * 2 ** 30,
    defaultText: '10g',
  },
  prefixCacheAge: {
    flags: '--prefix-cache-age <duration>',
    description: 'prefixes unused for longer are removed from that folder; -1 keeps them',
    schema: duration,
    default: 7 * 24 * 3_600_000,
    defaultText: '168h',
  },
  prefetch: {
    flags: '--prefetch <file>',
    description:
      'prompts to compute before a model is ready, and to keep: lines of JSON with system, messages or prompt',
    schema: text.optional(),
    defaultText: 'none',
  },
  prefetchNextTurn: {
    flags: '--prefetch-next-turn',
    description: 'while idle, compute what the next turns of chats will begin with',
  },
  targetItlMs: {
    flags: '--target-itl-ms <ms>',
    description: 'target inter-token latency during prefill',
    schema: decimal({ above: 0 }).optional(),
    defaultText: '1.35 times the decode time, more when many prompts wait',
  },
  stepTimeout: {
    flags: '--step-timeout <seconds>',
    description: 'an engine that has work and is silent for longer is killed and replaced',
    schema: seconds,
    default: 60,
  },
  speculative: {
    flags: '--speculative <name>',
    description:
      'speculative decoding when few streams run: auto, off, ngram (from texts), draft (from --draft-model) or mtp (by the model itself)',
    schema: oneOf(['auto', 'off', 'ngram', 'draft', 'mtp']),
    default: 'auto',
  },
  speculativeTokens: {
    flags: '--speculative-tokens <n>',
    description: 'most tokens of a draft',
    schema: count(1, 32),
    default: 8,
  },
  draftModel: {
    flags: '--draft-model <model>',
    description: 'smaller model with the same tokenizer, for drafts; as --model',
    schema: text.optional(),
    defaultText: 'none',
  },
  durableKv: {
    flags: '--durable-kv',
    description: 'keep the KV cache when the engine crashes (Linux; steps get slower)',
  },
} satisfies Record<string, FlagSpec>;

/** Flags of the device that computes. */
export const DEVICE_FLAGS = {
  device: {
    flags: '--device <name>',
    description: 'auto, cpu, webgpu, cuda or tensorrt',
    schema: oneOf(['auto', 'cpu', 'webgpu', 'cuda', 'tensorrt']),
    isBasic: true,
    default: 'auto',
  },
  threads: {
    flags: '--threads <n>',
    description: 'CPU threads; 0 is one per physical core',
    schema: threadCount,
    isBasic: true,
    default: 0,
  },
  deviceId: {
    flags: '--device-id <n>',
    description: 'index among several devices of that kind',
    schema: count(0),
    default: 0,
  },
  providerOption: {
    flags: '--provider-option <key=value>',
    description: 'settings of the ONNX Runtime execution provider; several',
    schema: assignments.optional(),
    list: 'commas',
  },
  providerLibrary: {
    flags: '--provider-library <device=path>',
    description: 'plugin library with the execution provider of a device; several',
    schema: assignments.optional(),
    list: 'commas',
  },
  graphCapture: {
    flags: '--graph-capture',
    description: 'record decode runs and replay them (WebGPU); no GPU has been measured yet',
  },
  kernels: {
    flags: '--kernels <name>',
    description:
      "CPU kernels: native (Chairlift's own; int8 and int4), onnxruntime, or auto (native if this CPU has them)",
    schema: oneOf(['auto', 'native', 'onnxruntime']),
    default: 'auto',
  },
  attention: {
    flags: '--attention <name>',
    description:
      'layout of the KV cache: slots (contiguous memory for each sequence), paged (PagedAttention; GPUs that compute in float16) or auto (slots)',
    schema: oneOf(['auto', 'slots', 'paged']),
    default: 'auto',
  },
} satisfies Record<string, FlagSpec>;
