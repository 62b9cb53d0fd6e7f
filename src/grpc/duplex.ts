/** Calls that are answered in many messages: backpressure, and how many requests are at work. */
import { setMaxListeners } from 'node:events';
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { LIMITS } from '../limits.ts';
import type { RpcCall } from './call.ts';

export interface Duplex {
  readonly call: ServerDuplexStream<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;
  /** The only request; null where the client streams them. */
  readonly requests: Buffer | null;
  /** Aborts when the server closes: a stream without work ends. */
  readonly closing: AbortSignal;
  /** @throws ApiError 401 */
  open(): RpcCall;
  answer(request: Buffer, call: RpcCall): AsyncIterable<unknown>;
  encode(message: unknown): Buffer;
}

/** @returns when all is answered, or the client is gone; @throws what ended the call early */
export async function serveDuplex(stream: Duplex): Promise<void> {
  const { call, requests } = stream;
  const opened = stream.open();
  // Every request of the stream listens; Node would take more than ten for a leak.
  setMaxListeners(0, opened.caller.signal);
  if (requests !== null) {
    await answer(stream, requests, opened);
  } else {
    await answerAll(stream, call as ServerDuplexStream<Buffer, Buffer>, opened);
  }
  if (!call.cancelled) call.end();
}

/** Requests of one stream run side by side; with too many at work no more are read. */
function answerAll(
  stream: Duplex,
  call: ServerDuplexStream<Buffer, Buffer>,
  opened: RpcCall,
): Promise<void> {
  const { closing } = stream;
  const { signal } = opened.caller;
  return new Promise((resolve, reject) => {
    let numAtWork = 0;
    let hasEnded = false;
    const settle = (): void => {
      if (numAtWork > 0 || !(hasEnded || closing.aborted || signal.aborted)) return;
      closing.removeEventListener('abort', settle);
      if (call.cancelled || !signal.aborted) resolve();
      // Its time is over, and its client is there to be told.
      else reject(signal.reason as Error);
    };
    const finished = (): void => {
      numAtWork--;
      call.resume();
      settle();
    };
    call.on('data', (request: Buffer) => {
      if (++numAtWork >= LIMITS.requestsPerSocket) call.pause();
      answer(stream, request, opened).then(finished, (error: unknown) => {
        finished();
        reject(error);
      });
    });
    call.on('end', () => {
      hasEnded = true;
      settle();
    });
    // What went wrong shows at once as the end of what is at work.
    call.on('error', () => settle());
    signal.addEventListener('abort', settle, { once: true });
    closing.addEventListener('abort', settle, { once: true });
  });
}

/** Pulls no further message before the client has taken enough of those before. */
async function answer(stream: Duplex, request: Buffer, opened: RpcCall): Promise<void> {
  const { call } = stream;
  const { signal } = opened.caller;
  for await (const message of stream.answer(request, opened)) {
    if (signal.aborted) break;
    if (!call.write(stream.encode(message))) await drained(call, signal);
  }
}

function drained(call: Duplex['call'], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      call.off('drain', settle);
      signal.removeEventListener('abort', settle);
      resolve();
    };
    call.on('drain', settle);
    signal.addEventListener('abort', settle, { once: true });
  });
}
