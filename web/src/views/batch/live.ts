import { readEvents } from '../../api/event-stream.ts';
import { request, ServerError } from '../../api/request.ts';
import type { BatchEvent } from './step-events.ts';

const RETRY_MS = 1000;

export type Connection =
  | { readonly state: 'connecting' | 'open' }
  /** The server is gone, or ended the stream; it is tried again. */
  | { readonly state: 'lost'; readonly reason: string }
  /** The server said no. */
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
      const isRefused = error instanceof ServerError && error.status < 500;
      const reason = error instanceof ServerError ? error.message : 'There is no connection.';
      onConnection({ state: isRefused ? 'refused' : 'lost', reason });
      if (isRefused) return;
    }
    await pause(RETRY_MS, signal);
  }
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
