import { LIMITS } from '../../limits.ts';
import type { BatcherOptions } from './batcher-options.ts';

/** Batches at once of what is there, with the bounds of limits.ts. */
const COMMON: BatcherOptions = {
  maxBatchSize: LIMITS.batchRows,
  preferredBatchSizes: [],
  maxQueueDelayMs: 0,
  maxBatchBytes: LIMITS.batchBytes,
  maxBatchTokens: null,
  instances: 1,
  preserveOrdering: false,
  queue: {
    maxQueue: LIMITS.batchQueue,
    maxQueueBytes: LIMITS.batchQueueBytes,
    defaultTimeoutMs: null,
    timeoutAction: 'reject',
    allowTimeoutOverride: true,
  },
};

/** Batching of requests for tensors. */
export const TENSOR_BATCHING = COMMON;

/** Batching of texts, by their length. */
export const TEXT_BATCHING: BatcherOptions = { ...COMMON, maxBatchTokens: LIMITS.batchTokens };
