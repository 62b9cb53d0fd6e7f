/** Triton's fields of a model without state (config.pbtxt), as its chairlift.json can have them. */
import { z } from 'zod';
import type { BatcherOptions } from '../batching/batcher-options.ts';

const microseconds = z.int().nonnegative();

export const tritonConfigSchema = z.object({
  /** Rows of a batch; 0 for a graph without a batch dimension. Found in the graph if left out. */
  max_batch_size: z.int().nonnegative().optional(),
  dynamic_batching: z
    .object({
      preferred_batch_size: z.array(z.int().positive()).default([]),
      max_queue_delay_microseconds: microseconds.default(0),
      preserve_ordering: z.boolean().default(false),
      /** Priorities are 1 (first) to this; 0 for none. */
      priority_levels: z.int().nonnegative().default(0),
      default_priority_level: z.int().nonnegative().default(0),
      default_queue_policy: z
        .object({
          timeout_action: z.enum(['REJECT', 'DELAY']).default('REJECT'),
          /** 0 for any time. */
          default_timeout_microseconds: microseconds.default(0),
          allow_timeout_override: z.boolean().default(false),
          /** 0 for the server's own bound. */
          max_queue_size: z.int().nonnegative().default(0),
        })
        .optional(),
    })
    .optional(),
});

export type TritonConfig = z.infer<typeof tritonConfigSchema>;

export interface StatelessConfig {
  readonly batching: BatcherOptions;
  /** Whether the graph has a batch dimension; null if that is to be found. */
  readonly isBatched: boolean | null;
  /** From 1 (first) to `levels`, `default` for requests that name none; null for no levels. */
  readonly priorities: Priorities | null;
}

export interface Priorities {
  readonly levels: number;
  readonly default: number;
}

/**
 * Converts Triton's fields to options of the batcher.
 * @param base values of fields that are left out; its bounds can't be raised
 */
export function fromTritonConfig(
  { max_batch_size: maxBatchSize, dynamic_batching: dynamic }: TritonConfig,
  base: BatcherOptions,
): StatelessConfig {
  const policy = dynamic?.default_queue_policy;
  const levels = dynamic?.priority_levels ?? 0;
  const size = Math.min(maxBatchSize || base.maxBatchSize, base.maxBatchSize);
  const { queue } = base;
  return {
    batching: {
      ...base,
      maxBatchSize: size,
      ...(dynamic && {
        preferredBatchSizes: dynamic.preferred_batch_size.filter((each) => each <= size),
        maxQueueDelayMs: dynamic.max_queue_delay_microseconds / 1000,
        preserveOrdering: dynamic.preserve_ordering,
      }),
      queue: {
        ...queue,
        ...(policy && {
          maxQueue: Math.min(policy.max_queue_size || queue.maxQueue, queue.maxQueue),
          defaultTimeoutMs: policy.default_timeout_microseconds / 1000 || null,
          timeoutAction: policy.timeout_action === 'DELAY' ? 'delay' : 'reject',
          allowTimeoutOverride: policy.allow_timeout_override,
        }),
      },
    },
    isBatched: maxBatchSize === undefined ? null : maxBatchSize > 0,
    priorities:
      levels === 0
        ? null
        : { levels, default: Math.min(Math.max(1, dynamic?.default_priority_level ?? 1), levels) },
  };
}
