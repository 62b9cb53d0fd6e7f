/** Server-sent events with names, as the Responses and Messages APIs have them. */
import type { ServerResponse } from 'node:http';
import { drained, Pinger, SSE_HEADERS } from './sse.ts';

export interface NamedEvent {
  readonly type: string;
}

export interface NamedEventOptions {
  /** Milliseconds of silence after which a comment line tells that all is well. */
  readonly pingMs: number;
  /** Response headers, those of middlewares included. */
  readonly headers: Headers;
}

/**
 * Answers with `events`, those of one batch together. A client that reads slowly holds back the
 * pulling of further ones; when it is gone the iteration is ended. An iteration that throws cuts
 * the connection: what a client is to know of a failure must be an event.
 */
export async function writeNamedEvents(
  response: ServerResponse,
  events: AsyncIterable<readonly NamedEvent[]>,
  { pingMs, headers }: NamedEventOptions,
): Promise<void> {
  response.writeHead(200, { ...Object.fromEntries(headers), ...SSE_HEADERS });
  response.flushHeaders();
  const pinger = new Pinger(response, pingMs);
  try {
    for await (const batch of events) {
      if (response.destroyed) break;
      pinger.wrote();
      if (!response.write(batch.map(toText).join(''))) await drained(response);
    }
    if (!response.destroyed) response.end();
  } catch {
    response.destroy();
  } finally {
    pinger.stop();
  }
}

function toText(event: NamedEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
