/**
 * The body of an answer that grows piece by piece. Node's response makes four writes to the connection
 * of each piece, and a system call that gathers them; written as one text a piece costs half of that.
 */
import type { ServerResponse } from 'node:http';
import { drained } from '../../drained.ts';

export class GrowingBody {
  readonly #response: ServerResponse;

  /** @param response whose headers are sent */
  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** @returns nothing while the client keeps up, otherwise a promise that resolves when it has */
  write(piece: string): Promise<void> | undefined {
    const { chunkedEncoding, socket } = this.#response;
    const numBytes = Buffer.byteLength(piece);
    if (!chunkedEncoding || socket === null || numBytes === 0) {
      return this.#response.write(piece) ? undefined : drained(this.#response);
    }
    // A piece with one byte per character needs no other encoding.
    const encoding = numBytes === piece.length ? 'latin1' : 'utf8';
    const chunk = `${numBytes.toString(16)}\r\n${piece}\r\n`;
    return socket.write(chunk, encoding) ? undefined : drained(socket);
  }
}
