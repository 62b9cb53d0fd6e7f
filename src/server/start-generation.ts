/** Starts a generation and learns at once whether it was admitted. */
import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../front/caller.ts';
import { fanOut, type FanOutRequest } from '../front/fan-out.ts';
import type { GenerationDelta } from '../front/generation.ts';
import type { ServerContext } from './context.ts';
import { unavailable } from './errors.ts';
import { requireCompiled } from './structured-outputs.ts';

/** @throws ApiError 503 when no new request can be taken. */
export function requireServing(context: ServerContext): void {
  if (context.isDraining()) throw unavailable('The server is shutting down.');
  const { state } = context.engine;
  if (state === 'failed' || state === 'stopped' || state === 'starting') {
    throw unavailable(`The engine is ${state}.`);
  }
  // Before work is spent on the request: templates and tokenizers are not free.
  context.admission.requireRoom(0);
}

/**
 * Queues `request`. A refusal (bad grammar, queue full, shutting down) throws here, while the answer's status
 * can still be chosen; whatever happens later, the wait for the first token included, is met in
 * the deltas. Past its deadline the generation ends with a TimeoutError.
 * Without API keys the request's own `user` field tells whose it is.
 */
export async function startGeneration(
  context: ServerContext,
  request: FanOutRequest,
  caller: Caller,
): Promise<AsyncIterableIterator<GenerationDelta>> {
  requireServing(context);
  await requireCompiled(context, request.prompts[0]?.grammar, caller);
  const timeoutMs = request.prompts[0]?.timeoutMs ?? context.config.requestTimeoutMs;
  const deadline = timeoutMs === null ? [] : [AbortSignal.timeout(timeoutMs)];
  const { client, signal } = caller;
  const owned = client === '' ? request : ownedBy(client, request);
  const deltas = fanOut(context.generator, owned, AbortSignal.any([signal, ...deadline]));
  const first = deltas.next();
  // The generator decides on admission before it waits for anything, so a refusal is here within
  // this turn of the event loop.
  await Promise.race([first, setImmediate()]);
  return withFirst(first, deltas);
}

function ownedBy(client: string, request: FanOutRequest): FanOutRequest {
  return { ...request, prompts: request.prompts.map((prompt) => ({ ...prompt, client })) };
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
