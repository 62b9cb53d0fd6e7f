/** Calls in which both sides stream: how many requests are at work, and when the call is over. */
import { setMaxListeners } from 'node:events';
import { LIMITS } from '../limits.ts';
import type { RpcCall } from './call.ts';
import type { CallStream } from './call-stream.ts';
import type { ArrivalLimits } from './incoming-messages.ts';

export interface Duplex {
  readonly call: CallStream;
  readonly limits: ArrivalLimits;
  readonly opened: RpcCall;
  /** Aborts when the server closes: a stream without work ends. */
  readonly closing: AbortSignal;
  /** Answers one message, with any number of them. */
  readonly answer: (request: Buffer) => Promise<void>;
}

/**
 * Requests of one stream run side by side; with too many at work no more are read.
 * @returns when all is answered, or the client is gone; @throws what ended the call early
 */
export function answerStream({ call, limits, opened, closing, answer }: Duplex): Promise<void> {
  const { signal } = opened.caller;
  // Every request of the stream listens; Node would take more than ten for a leak.
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    let numAtWork = 0;
    let hasAll = false;
    const settle = (): void => {
      if (numAtWork > 0 || !(hasAll || closing.aborted || signal.aborted)) return;
      closing.removeEventListener('abort', settle);
      signal.removeEventListener('abort', settle);
      if (call.gone.aborted || !signal.aborted) resolve();
      // Its time is over, and its client is still there to receive the error.
      else reject(signal.reason as Error);
    };
    const finished = (): void => {
      numAtWork--;
      call.resume();
      settle();
    };
    call.receive(limits, {
      message(request) {
        if (++numAtWork >= LIMITS.requestsPerSocket) call.pause();
        answer(request)
          .then(finished, (error: unknown) => {
            reject(error);
            finished();
          })
          .catch(reject);
      },
      end() {
        hasAll = true;
        settle();
      },
      fail: reject,
    });
    signal.addEventListener('abort', settle, { once: true });
    closing.addEventListener('abort', settle, { once: true });
  });
}
