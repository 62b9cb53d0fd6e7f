import type { Admission } from './admission.ts';

export interface RequestLoad {
  /** Requests that have a place in the batch. A beam search has several. */
  readonly running: number;
  /** Requests in the queue, and those in the engine that wait for a slot or memory. */
  readonly waiting: number;
}

/** Requests of a model, now. */
export function requestLoad(
  { stats }: { readonly stats: { readonly numWaiting: number } },
  admission: Pick<Admission, 'running' | 'waiting'>,
): RequestLoad {
  const { numWaiting } = stats;
  return {
    // Between two steps the engine has no sequence of a beam search, nor of a request that takes one step.
    running: Math.max(0, admission.running - numWaiting),
    waiting: admission.waiting + numWaiting,
  };
}
