import type { BatchLimits } from './batch-rules.ts';

/** How requests are put together in batches; the names are those of Triton's `dynamic_batching`. */
export interface BatcherOptions extends BatchLimits {
  /** Batches that run at once, each on an instance of the model. */
  readonly instances: number;
  /** Answers leave in the order in which their requests came. */
  readonly preserveOrdering: boolean;
  readonly queue: QueuePolicy;
  /** Whether the queue is shared by clients of which none must fill it for the others. */
  readonly isShared?: () => boolean;
}

export interface QueuePolicy {
  /** Requests that may wait. */
  readonly maxQueue: number;
  /** Bytes of the inputs that may wait. */
  readonly maxQueueBytes: number;
  /** Milliseconds that a request may wait; null for any time. */
  readonly defaultTimeoutMs: number | null;
  /**
   * Action on a request that has waited for its timeout: it fails, or goes after all others of its
   * priority.
   */
  readonly timeoutAction: 'reject' | 'delay';
  /** Whether a request can ask for a shorter time. */
  readonly allowTimeoutOverride: boolean;
}

/** A request waited for as long as any may. */
export class BatchTimeoutError extends Error {
  override readonly name = 'BatchTimeoutError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`the request waited for ${timeoutMs} ms, which is the limit`);
    this.timeoutMs = timeoutMs;
  }
}

/** Request as the batcher receives it. */
export interface BatchRequest<Input> {
  readonly input: Input;
  readonly rows: number;
  /** Tokens of its longest row; 0 for a request without a length. */
  readonly tokens: number;
  readonly bytes: number;
  /** Only requests of the same shape share a batch. */
  readonly shape: string;
  /** Lower goes first; 0 if left out. */
  readonly priority?: number;
  /** Milliseconds that it wants to wait at most. */
  readonly timeoutMs?: number | null;
}

/** Result of one request of a batch. */
export type Outcome<Output> =
  | { readonly type: 'done'; readonly output: Output }
  | { readonly type: 'failed'; readonly error: Error };

/** Runs a batch; one outcome for each input, in their order. */
export type RunBatch<Input, Output> = (
  inputs: readonly Input[],
) => Promise<readonly Outcome<Output>[]>;
