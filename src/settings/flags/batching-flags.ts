import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, decimal, listOf } from './values.ts';

/** How requests for encoders and other models without state are put together; names are Triton's. */
export const BATCHING_FLAGS = {
  maxBatchSize: {
    flags: '--max-batch-size <n>',
    description: 'texts or rows of a batch of an encoder, or of a model without state',
    schema: count(1, 4096),
    default: LIMITS.batchRows,
  },
  maxBatchTokens: {
    flags: '--max-batch-tokens <n>',
    description: "tokens of an encoder's batch, with its padding",
    schema: count(1),
    default: LIMITS.batchTokens,
  },
  maxQueueDelayMs: {
    flags: '--max-queue-delay-ms <ms>',
    description: "how long an encoder's request may wait for others to be batched with",
    schema: decimal({ min: 0, max: 10_000 }),
    default: 0,
  },
  preferredBatchSizes: {
    flags: '--preferred-batch-sizes <sizes>',
    description: 'sizes of batches that run without waiting for more, such as 8,16',
    schema: listOf(count(1, 9999)).optional(),
    list: 'commas',
    defaultText: '--max-batch-size alone',
  },
  preserveOrdering: {
    flags: '--preserve-ordering',
    description: 'answer in the order of the requests, whatever the batches',
  },
} satisfies Record<string, FlagSpec>;
