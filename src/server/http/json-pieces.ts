import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { drained } from './drained.ts';

/**
 * Answers with JSON text that is made piece by piece: others get their turn of the event loop in
 * between, and a client that reads slowly holds back what is made.
 */
export async function writeJsonPieces(
  response: ServerResponse,
  pieces: Iterable<string>,
  headers: Headers,
): Promise<void> {
  response.writeHead(200, { ...Object.fromEntries(headers), 'content-type': 'application/json' });
  for (const piece of pieces) {
    if (response.destroyed) return;
    if (response.write(piece)) await setImmediate();
    else await drained(response);
  }
  response.end();
}
