import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count, priorityRange } from './values.ts';

/** How requests wait, how they are understood, and what is kept of them. */
export const REQUEST_FLAGS = {
  maxQueue: {
    flags: '--max-queue <n>',
    description: 'requests that may wait for a slot; further ones get 429',
    schema: count(0),
    default: 256,
  },
  maxQueueTokens: {
    flags: '--max-queue-tokens <n>',
    description: 'prompt tokens that may wait; further requests get 429',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  priorityRange: {
    flags: '--priority-range <min,max>',
    description: 'range of request priorities; others are clamped to it',
    schema: priorityRange,
    default: LIMITS.priorities,
    defaultText: `${LIMITS.priorities.min},${LIMITS.priorities.max}`,
  },
  slo: {
    flags: '--slo <file>',
    description: 'service classes and their targets: a file in JSON or YAML, or the text itself',
    schema: z.string().min(1).optional(),
    defaultText: 'ultra-low, interactive, standard and batch',
  },
  requestTimeout: {
    flags: '--request-timeout <seconds>',
    description: 'longest time of a request, waiting included',
    schema: z.coerce.number().gt(0).optional(),
    defaultText: 'no limit',
  },
  tokenizerPoolSize: {
    flags: '--tokenizer-pool-size <n>',
    description: 'threads that render and tokenize all but short prompts, started as needed',
    schema: count(1),
    default: 2,
  },
  grammarPoolSize: {
    flags: '--grammar-pool-size <n>',
    description: 'threads that compile grammars of structured output, started as needed',
    schema: count(1),
    default: LIMITS.grammarPoolSize,
  },
  specialTokensInContent: {
    flags: '--special-tokens-in-content',
    description: 'read special tokens in messages as tokens (default: plain text)',
    schema: z.boolean().optional(),
  },
  toolCallParser: {
    flags: '--tool-call-parser <name>',
    description: 'how the model writes tool calls: auto, none, hermes, llama3_json or mistral',
    schema: z.enum(['auto', 'none', 'hermes', 'llama3_json', 'mistral']),
    default: 'auto',
  },
  reasoningParser: {
    flags: '--reasoning-parser <name>',
    description: 'split <think>...</think> from the answer: auto, none or think',
    schema: z.enum(['auto', 'none', 'think']),
    default: 'auto',
  },
  responseStoreSize: {
    flags: '--response-store-size <size>',
    description: 'memory for stored responses of /v1/responses; 0 stores none',
    schema: byteSize,
    default: LIMITS.responseStoreBytes,
    defaultText: '64m',
  },
} satisfies Record<string, FlagSpec>;
