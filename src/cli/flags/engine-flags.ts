import { z } from 'zod';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count } from './values.ts';

/** How many sequences the engine runs, how fast, and what it remembers. */
export const ENGINE_FLAGS = {
  maxNumSeqs: {
    flags: '--max-num-seqs <n>',
    description: 'sequences that run at once: slots of the KV cache',
    schema: count(1),
    default: 32,
  },
  maxModelLen: {
    flags: '--max-model-len <tokens>',
    description: 'longest prompt plus output',
    schema: count(2).optional(),
    defaultText: "the model's own limit",
  },
  maxNumBatchedTokens: {
    flags: '--max-num-batched-tokens <n>',
    description: 'most tokens that one step computes; longer prompts take several steps',
    schema: count(1).optional(),
    defaultText: '512, or --max-num-seqs if larger',
  },
  kvCacheMemory: {
    flags: '--kv-cache-memory <size>',
    description: 'device memory that the KV cache may use',
    schema: byteSize.optional(),
    defaultText: 'half of the free memory; on a GPU half of all, or 1g if unknown',
  },
  prefixCaching: {
    flags: '--no-prefix-caching',
    description: 'compute every prompt from its first token, even if it begins like an earlier one',
    schema: z.boolean(),
  },
  sharePrefixCache: {
    flags: '--share-prefix-cache',
    description: 'share the prefix cache among clients with different keys',
    schema: z.boolean().optional(),
  },
  prefetch: {
    flags: '--prefetch <file>',
    description:
      'prompts to compute before a model is ready, and to keep: lines of JSON with system, messages or prompt',
    schema: z.string().min(1).optional(),
  },
  prefetchNextTurn: {
    flags: '--prefetch-next-turn',
    description: 'while idle, compute what the next turns of chats will begin with',
    schema: z.boolean().optional(),
  },
  targetItlMs: {
    flags: '--target-itl-ms <ms>',
    description: 'target inter-token latency during prefill',
    schema: z.coerce.number().gt(0).optional(),
    defaultText: '1.35 times the decode time, more when many prompts wait',
  },
  stepTimeout: {
    flags: '--step-timeout <seconds>',
    description: 'an engine that has work and is silent for longer is killed and replaced',
    schema: z.coerce.number().gt(0),
    default: 60,
  },
  speculative: {
    flags: '--speculative <name>',
    description:
      'speculative decoding when few streams run: auto, off, ngram (from texts) or draft (from --draft-model)',
    schema: z.enum(['auto', 'off', 'ngram', 'draft']),
    default: 'auto',
  },
  speculativeTokens: {
    flags: '--speculative-tokens <n>',
    description: 'most tokens of a draft',
    schema: count(1).pipe(z.number().max(32)),
    default: 8,
  },
  draftModel: {
    flags: '--draft-model <folder>',
    description: 'smaller model with the same tokenizer, for drafts',
    schema: z.string().min(1).optional(),
  },
  durableKv: {
    flags: '--durable-kv',
    description: 'keep the KV cache when the engine crashes (Linux; steps get slower)',
    schema: z.boolean().optional(),
  },
} satisfies Record<string, FlagSpec>;
