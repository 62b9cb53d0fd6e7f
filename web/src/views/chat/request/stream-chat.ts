/** A streamed chat completion that goes on when its server is gone and comes back. */
import { resumableStream } from '../../../../../src/client/resumable-stream.ts';
import { watchedFetch } from '../../../api/connection.ts';
import { readEvents } from '../../../api/event-stream.ts';
import { request } from '../../../api/request.ts';
import type { ChatChunk } from './answer-builder.ts';
import type { RequestBody } from './request-body.ts';

/** Together about a minute: time for a server to start again. */
const ATTEMPTS = 64;
const MAX_BACKOFF_MS = 1000;

export const CHAT_PATH = '/v1/chat/completions';

interface StreamOptions {
  /** Sent as `x-request-id`. */
  readonly id: string;
  readonly signal: AbortSignal;
  /** Called with the milliseconds for which the stream was interrupted. */
  readonly onResume: (gapMs: number) => void;
}

export async function* streamChat(
  body: RequestBody,
  { id, signal, onResume }: StreamOptions,
): AsyncGenerator<ChatChunk> {
  const send = resumableStream({
    fetch: watchedFetch,
    attempts: ATTEMPTS,
    maxBackoffMs: MAX_BACKOFF_MS,
    onResume,
  });
  const headers = { 'x-request-id': id };
  const response = await request(CHAT_PATH, { body, signal, headers, fetch: send });
  yield* readEvents<ChatChunk>(response);
}
