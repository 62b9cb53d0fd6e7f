/** A streamed chat completion that goes on when its server is gone and comes back. */
import { resumableStream } from '../../../../../src/client/resumable-stream.ts';
import { readEvents } from '../../../api/event-stream.ts';
import { request } from '../../../api/request.ts';
import type { ChatChunk } from './answer-builder.ts';
import type { RequestBody } from './request-body.ts';

/** Together about a minute: time for a server to start again. */
const ATTEMPTS = 64;
const MAX_BACKOFF_MS = 1000;

export const CHAT_PATH = '/v1/chat/completions';

/** @param onResume told of milliseconds for which the stream was interrupted */
export async function* streamChat(
  body: RequestBody,
  signal: AbortSignal,
  onResume: (gapMs: number) => void,
): AsyncGenerator<ChatChunk> {
  const send = resumableStream({ attempts: ATTEMPTS, maxBackoffMs: MAX_BACKOFF_MS, onResume });
  const response = await request(CHAT_PATH, { body, signal, fetch: send });
  yield* readEvents<ChatChunk>(response);
}
