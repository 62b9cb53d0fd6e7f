/** Error answers to what never becomes a request of the app, written straight to the connection. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../errors.ts';

/** Closes the connection, even if its client still sends. */
export function answerRaw(socket: Socket, error: ApiError): void {
  const body = JSON.stringify(error.toEnvelope());
  const headers = {
    ...error.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const reason = STATUS_CODES[error.status] ?? '';
  socket.end(`HTTP/1.1 ${error.status} ${reason}\r\n${lines.join('')}\r\n${body}`);
  socket.destroySoon();
}
