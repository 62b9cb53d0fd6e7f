/** Counts what an answer over HTTP has in memory until it has been read. */
import type { Context } from 'hono';
import type { ServerEnv } from '../context.ts';
import { SlowReaderError } from '../../front/engine-process/errors.ts';

/**
 * @param answer its bytes, those that wait at the moment if left out, and what to do when it is cut; without that
 *   its connection ends, since nothing in the midst of a body can say why
 * @throws ApiError 429 or 503 when too much waits to be read
 */
export function holdAnswer(
  c: Context<ServerEnv>,
  answer: { readonly numBytes?: number; cut?(reason: SlowReaderError): void },
): void {
  const { outgoing, incoming } = c.env;
  if (outgoing.destroyed) return;
  const release = c.get('unread').hold(c.get('client') ?? '', {
    get numBytes() {
      return answer.numBytes ?? incoming.socket.writableLength;
    },
    connection: incoming.socket,
    cut() {
      c.set('errorCode', 'slow_reader');
      if (answer.cut) answer.cut(new SlowReaderError());
      else outgoing.destroy();
    },
  });
  outgoing.once('close', release);
}
