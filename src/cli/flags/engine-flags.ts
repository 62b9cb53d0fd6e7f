import { z } from 'zod';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count } from './values.ts';

/** How many sequences the engine runs, how fast, and what it remembers. */
export const ENGINE_FLAGS = {
  maxNumSeqs: {
    flags: '--max-num-seqs <n>',
    description: 'sequences that run at once: rows of the KV cache',
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
    description: 'most tokens that one iteration computes; longer prompts take several',
    schema: count(1).optional(),
    defaultText: '512, or --max-num-seqs if larger',
  },
  kvCacheMemory: {
    flags: '--kv-cache-memory <size>',
    description: "memory of the device's that the KV cache may use",
    schema: byteSize.optional(),
    defaultText: 'half of what is free; on a GPU of what it has, 1g where it does not say',
  },
  prefixCaching: {
    flags: '--no-prefix-caching',
    description: 'compute every prompt from its first token, though an earlier one began alike',
    schema: z.boolean(),
  },
  sharePrefixCache: {
    flags: '--share-prefix-cache',
    description: "let clients with keys of their own find each other's prompts in the prefix cache",
    schema: z.boolean().optional(),
  },
  targetItlMs: {
    flags: '--target-itl-ms <ms>',
    description: 'inter-token latency that prefill beside running streams must keep to',
    schema: z.coerce.number().gt(0).optional(),
    defaultText: '1.35 times the decode time, more when many prompts wait',
  },
  stepTimeout: {
    flags: '--step-timeout <seconds>',
    description: 'an engine that is silent for longer, with work to do, is killed and replaced',
    schema: z.coerce.number().gt(0),
    default: 60,
  },
  speculative: {
    flags: '--speculative <name>',
    description:
      'guess coming tokens where few streams decode: auto, off, ngram (from texts) or draft (from --draft-model)',
    schema: z.enum(['auto', 'off', 'ngram', 'draft']),
    default: 'auto',
  },
  speculativeTokens: {
    flags: '--speculative-tokens <n>',
    description: 'most tokens to guess at a time',
    schema: count(1).pipe(z.number().max(32)),
    default: 8,
  },
  draftModel: {
    flags: '--draft-model <folder>',
    description: 'smaller model with the same tokenizer, to guess with',
    schema: z.string().min(1).optional(),
  },
  durableKv: {
    flags: '--durable-kv',
    description: 'keep the KV cache through a crash of the engine (Linux; steps get slower)',
    schema: z.boolean().optional(),
  },
} satisfies Record<string, FlagSpec>;
