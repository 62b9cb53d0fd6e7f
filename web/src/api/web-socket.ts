/** WebSockets to the server that this page is from. */
import { ROOT } from '../root.ts';
import { apiKey } from './key.ts';

/** Pages can send no headers with a WebSocket: the key goes along as a subprotocol. */
export function openWebSocket(path: string): WebSocket {
  const url = new URL(ROOT + path, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const protocols = ['chairlift'];
  if (apiKey.value !== '') protocols.push(`chairlift-key.${base64Url(apiKey.value)}`);
  return new WebSocket(url, protocols);
}

function base64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
