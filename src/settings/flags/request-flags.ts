import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { byteSize, count, priorityRange, seconds, text } from './values.ts';

/** How requests wait, how long they may take, and what is kept of them. */
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
  requestTimeout: {
    flags: '--request-timeout <seconds>',
    description: 'longest time of a request, waiting included',
    schema: seconds.optional(),
    defaultText: 'no limit',
  },
  contextShift: {
    flags: '--context-shift',
    description:
      'let an answer with max_tokens go on beyond the context: the oldest half of it is left out',
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
    schema: text.optional(),
    defaultText: 'ultra-low, interactive, standard and batch',
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
  responseStoreSize: {
    flags: '--response-store-size <size>',
    description: 'memory for stored responses of /v1/responses; 0 stores none',
    schema: byteSize,
    default: LIMITS.responseStoreBytes,
    defaultText: '64m',
  },
  batchDir: {
    flags: '--batch-dir <folder>',
    description: 'where /v1/files and /v1/batches keep what they have; one server at a time',
    schema: text.optional(),
    defaultText: 'no batches',
  },
  batchDisk: {
    flags: '--batch-disk <size>',
    description: 'disk for files and results of batches',
    schema: byteSize,
    default: LIMITS.filesBytes,
    defaultText: '4g',
  },
} satisfies Record<string, FlagSpec>;
