import { effect } from '@preact/signals';
import { reasonOf } from '../../api/connection.ts';
import { readEvents } from '../../api/event-stream.ts';
import { textModels } from '../../api/models.ts';
import { request, ServerError } from '../../api/request.ts';
import type { BatchEvent } from './step-events.ts';

const RETRY_MS = 1000;

export type Connection =
  | { readonly state: 'connecting' | 'open' }
  /** There is no model to watch; as soon as one is loaded, it is. */
  | { readonly state: 'unloaded' }
  /** The server is gone, or ended the stream; it is tried again. */
  | { readonly state: 'lost'; readonly reason: string }
  /** The server does not let this user watch. */
  | { readonly state: 'refused'; readonly reason: string };

export interface LiveOptions {
  /** The first that is loaded if null. */
  readonly model: string | null;
  readonly onEvent: (event: BatchEvent) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** Reads /admin/steps, again and again, until `signal` aborts or the server refuses. */
export async function watchLive(options: LiveOptions, signal: AbortSignal): Promise<void> {
  const { model, onEvent, onConnection } = options;
  const search = model === null ? '' : `?model=${encodeURIComponent(model)}`;
  while (!signal.aborted) {
    try {
      onConnection({ state: 'connecting' });
      const response = await request(`/admin/steps${search}`, { signal });
      onConnection({ state: 'open' });
      for await (const event of readEvents<BatchEvent>(response)) onEvent(event);
      onConnection({ state: 'lost', reason: 'The server ended the stream.' });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ServerError && error.code === 'model_not_loaded') {
        onConnection({ state: 'unloaded' });
        await untilLoaded(model, signal);
        continue;
      }
      const isRefused = error instanceof ServerError && error.status < 500;
      onConnection({ state: isRefused ? 'refused' : 'lost', reason: reasonOf(error) });
      if (isRefused) return;
    }
    await pause(RETRY_MS, signal);
  }
}

/** The page looks at models anyway: to ask for steps again and again would be errors in the server's eyes. */
function untilLoaded(model: string | null, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // Not loaded by the list that there is, which may be older than the answer.
    let stop: (() => void) | undefined;
    const end = () => {
      signal.removeEventListener('abort', end);
      queueMicrotask(() => stop?.());
      resolve();
    };
    signal.addEventListener('abort', end);
    let isFirst = true;
    stop = effect(() => {
      const isReady = textModels.value.some(
        ({ id, status }) => status.value === 'ready' && (model === null || id === model),
      );
      if (isReady && !isFirst) end();
      isFirst = false;
    });
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
