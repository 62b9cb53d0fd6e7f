/** Error answers to what never becomes a request of the app. */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../errors.ts';

/** Written straight to the connection, which is closed, even if its client still sends. */
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

/** The connection is closed after it. */
export function answerWith(response: ServerResponse, error: ApiError): void {
  const headers = { ...error.headers, 'content-type': 'application/json', connection: 'close' };
  response.writeHead(error.status, headers).end(JSON.stringify(error.toEnvelope()));
}
