import { expect, it } from 'vitest';
import { TENSOR_BATCHING } from '../../../src/front/batching/default-batching.ts';
import { fromTritonConfig, tritonConfigSchema } from '../../../src/front/tensors/triton-config.ts';

function configOf(json: unknown) {
  return fromTritonConfig(tritonConfigSchema.parse(json), TENSOR_BATCHING);
}

it('changes nothing where it says nothing', () => {
  expect(configOf({})).toEqual({ batching: TENSOR_BATCHING, isBatched: null, priorities: null });
});

it("has Triton's fields", () => {
  const dynamic_batching = {
    preferred_batch_size: [4, 8, 100],
    max_queue_delay_microseconds: 1500,
    preserve_ordering: true,
    priority_levels: 3,
    default_priority_level: 2,
    default_queue_policy: {
      timeout_action: 'DELAY',
      default_timeout_microseconds: 20_000,
      allow_timeout_override: true,
      max_queue_size: 16,
    },
  };
  expect(configOf({ max_batch_size: 8, dynamic_batching })).toEqual({
    batching: {
      ...TENSOR_BATCHING,
      maxBatchSize: 8,
      preferredBatchSizes: [4, 8],
      maxQueueDelayMs: 1.5,
      preserveOrdering: true,
      queue: {
        ...TENSOR_BATCHING.queue,
        maxQueue: 16,
        defaultTimeoutMs: 20,
        timeoutAction: 'delay',
        allowTimeoutOverride: true,
      },
    },
    isBatched: true,
    priorities: { levels: 3, default: 2 },
  });
});

it('raises no bound of the server', () => {
  const dynamic_batching = { default_queue_policy: { max_queue_size: 1e9 } };
  const { batching } = configOf({ max_batch_size: 1e6, dynamic_batching });
  expect(batching.maxBatchSize).toBe(TENSOR_BATCHING.maxBatchSize);
  expect(batching.queue.maxQueue).toBe(TENSOR_BATCHING.queue.maxQueue);
});

it("leaves the command line's delay where it says nothing of it", () => {
  const base = { ...TENSOR_BATCHING, maxQueueDelayMs: 3, preferredBatchSizes: [2] };
  expect(fromTritonConfig({ max_batch_size: 4 }, base).batching).toEqual({
    ...base,
    maxBatchSize: 4,
  });
});

it('takes a graph without a batch dimension', () => {
  expect(configOf({ max_batch_size: 0 }).isBatched).toBe(false);
});
