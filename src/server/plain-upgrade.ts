/** Requests that offer an upgrade to something else than WebSocket, and are served without it. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings']);

/**
 * Before `shouldUpgradeCallback` (22.21, 24.9) Node hands over every request with an `Upgrade` header
 * once anything listens for upgrades, its body unread. Java's HTTP client offers HTTP/2 (`h2c`) with each of its requests, and may be
 * answered as if it had not: this puts the request back into its socket, the offer left out.
 * @param serve hands the socket to the server again
 */
export function serveWithoutUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  serve: () => void,
): void {
  const { rawHeaders } = request;
  let text = `${request.method} ${request.url} HTTP/${request.httpVersion}\r\n`;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) text += `${name}: ${rawHeaders[index + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  serve();
}
