import { vi } from 'vitest';
import { DynamicBatcher } from '../../../../src/front/batching/dynamic-batcher.ts';
import type {
  BatcherOptions,
  BatchRequest,
} from '../../../../src/front/batching/batcher-options.ts';

/** One batch at a time of up to four rows, at once, in a queue without bounds. */
export const OPTIONS: BatcherOptions = {
  maxBatchSize: 4,
  preferredBatchSizes: [],
  maxQueueDelayMs: 0,
  maxBatchBytes: Infinity,
  maxBatchTokens: null,
  instances: 1,
  preserveOrdering: false,
  queue: {
    maxQueue: Infinity,
    maxQueueBytes: Infinity,
    defaultTimeoutMs: null,
    timeoutAction: 'reject',
    allowTimeoutOverride: true,
  },
};

export const RUN_MS = 10;

interface Submitted {
  /** Its output, in capitals; or its error's message. */
  answer?: string;
  /** Milliseconds after the start at which it was answered. */
  at?: number;
}

export interface Ran {
  readonly at: number;
  readonly inputs: readonly string[];
}

/** A batcher over fake timers, whose model takes 10 ms for a batch and answers in capitals. */
export function startBatcher(options: Partial<BatcherOptions> = {}, runMs = RUN_MS) {
  const startedAt = performance.now();
  const now = () => performance.now() - startedAt;
  const ran: Ran[] = [];
  const batcher = new DynamicBatcher<string, string>({ ...OPTIONS, ...options }, async (inputs) => {
    ran.push({ at: now(), inputs });
    await new Promise((resolve) => setTimeout(resolve, runMs));
    return inputs.map((input) =>
      input.startsWith('bad')
        ? { type: 'failed', error: new Error(`${input} failed`) }
        : { type: 'done', output: input.toUpperCase() },
    );
  });
  const answers = new Map<string, Submitted>();
  const submit = (
    input: string,
    request: Partial<BatchRequest<string>> = {},
    { client = '', signal = new AbortController().signal } = {},
  ) => {
    const submitted: Submitted = {};
    answers.set(input, submitted);
    const whole = { input, rows: 1, tokens: 0, bytes: input.length, shape: '', ...request };
    void batcher.submit([whole], { client, signal }).then(
      ([output]) => Object.assign(submitted, { answer: output, at: now() }),
      (error: Error) => Object.assign(submitted, { answer: error.message, at: now() }),
    );
  };
  return { batcher, submit, ran, answers, now };
}

/** Lets so many milliseconds pass. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}
