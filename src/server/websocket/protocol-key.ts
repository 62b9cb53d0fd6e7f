/**
 * Keys of web pages, which can send no headers with a WebSocket: they offer two subprotocols,
 * `chairlift` and `chairlift-key.` with the key in base64url. Only the first is ever answered.
 */
import type { IncomingHttpHeaders } from 'node:http';

const PROTOCOL = 'chairlift';
const KEY_PREFIX = 'chairlift-key.';

/** The headers with the key as if it had come in one; a key that did come in one wins. */
export function withProtocolKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers.authorization !== undefined || headers['x-api-key'] !== undefined) return headers;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const encoded = offered.find((name) => name.startsWith(KEY_PREFIX))?.slice(KEY_PREFIX.length);
  if (encoded === undefined) return headers;
  return { ...headers, 'x-api-key': Buffer.from(encoded, 'base64url').toString() };
}

/** Which of the subprotocols that a client offers is spoken: never its key, which answers would repeat. */
export function chooseProtocol(offered: ReadonlySet<string>): string | false {
  if (offered.has(PROTOCOL)) return PROTOCOL;
  return [...offered].find((name) => !name.startsWith(KEY_PREFIX)) ?? false;
}
