/** Starts a generation and learns at once whether it was admitted. */
import { setImmediate } from 'node:timers/promises';
import type { GenerationDelta, GenerationRequest } from '../front/generation.ts';
import type { ServerContext } from './context.ts';
import { unavailable } from './errors.ts';

/** @throws ApiError 503 when no new request can be taken. */
export function requireServing(context: ServerContext): void {
  if (context.isDraining()) throw unavailable('The server is shutting down.');
  const { state } = context.engine;
  if (state === 'failed' || state === 'stopped' || state === 'starting') {
    throw unavailable(`The engine is ${state}.`);
  }
}

/**
 * Queues `request`. A refusal (queue full, shutting down) throws here, while the answer's status
 * can still be chosen; whatever happens later, the wait for the first token included, is met in
 * the deltas.
 */
export async function startGeneration(
  context: ServerContext,
  request: GenerationRequest,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<GenerationDelta>> {
  requireServing(context);
  const deltas = context.generator.generate(request, signal);
  const first = deltas.next();
  // The generator decides on admission before it waits for anything, so a refusal is here within
  // this turn of the event loop.
  await Promise.race([first, setImmediate()]);
  return withFirst(first, deltas);
}

/** `deltas` with its first result already asked for; adds no promise per delta. */
function withFirst(
  first: Promise<IteratorResult<GenerationDelta, void>>,
  deltas: AsyncGenerator<GenerationDelta, void>,
): AsyncIterableIterator<GenerationDelta> {
  let pending: typeof first | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (pending === undefined) return deltas.next();
      const result = pending;
      pending = undefined;
      return result;
    },
    return() {
      return deltas.return();
    },
  };
}
