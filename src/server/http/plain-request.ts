/** Makes the HTTP server treat only requests for a WebSocket as upgrades. */
import { IncomingMessage } from 'node:http';

/**
 * Once anything listens for upgrades, Node before 22.21 and 24.9 takes every request with an
 * `Upgrade` header for one, its body unread and its connection given away. Java's HTTP client offers
 * HTTP/2 (`h2c`) with each of its requests, and may be answered as if it had not. Node's parser asks
 * the request itself whether it is an upgrade: this one says no to all but WebSocket.
 */
export class PlainRequest extends IncomingMessage {
  /** Parser's finding: an `Upgrade` header, or the method CONNECT. */
  #offersUpgrade = false;

  get upgrade(): boolean {
    return this.#offersUpgrade && (this.method === 'CONNECT' || offersWebSocket(this));
  }

  set upgrade(offersUpgrade: boolean | null) {
    // Node's constructor sets it before this class has its field.
    if (#offersUpgrade in this) this.#offersUpgrade = offersUpgrade ?? false;
  }
}

function offersWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
