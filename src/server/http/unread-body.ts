/**
 * Bodies of requests that are answered before they have come, such as refused ones. Left alone, Node reads
 * all of it, however small its pieces are.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../../limits.ts';

/** Whether so little is still to come that the connection is worth keeping. */
export function isNearlyThere({ complete, headers }: IncomingMessage): boolean {
  return complete || Number(headers['content-length'] ?? Infinity) <= LIMITS.unreadBytes;
}

/**
 * Reads on, for a moment: a connection that is closed while its client sends takes the answer with it.
 * @param isKept whether the connection stays open if the body ends meanwhile
 */
export function passOver(request: IncomingMessage, socket: Socket, isKept: boolean): void {
  let numPieces = 0;
  let numBytes = 0;
  const destroySoon = socket.destroySoon.bind(socket);
  const end = setTimeout(() => socket.destroy(), LIMITS.unreadMs);
  request.once('close', () => clearTimeout(end));
  request.once('end', () => {
    clearTimeout(end);
    if (!isKept) destroySoon();
  });
  request.on('data', (piece: Buffer) => {
    numBytes += piece.length;
    if (++numPieces <= LIMITS.unreadPieces && numBytes <= LIMITS.unreadBytes) return;
    // Its client may read the answer until the time is over.
    request.pause();
    // After the request has asked for more, as it does until it holds 64 KiB.
    setImmediate(() => socket.pause());
    socket.end();
  });
  // From now on it is read here: Node drops what nobody has begun to read.
  request.read(0);
  if (isKept) return;
  socket.end();
  // Node calls it next.
  socket.destroySoon = () => {};
}
