/** Connections whose TLS handshake is not done: they have their places, and may have to make room. */
import type { Socket } from 'node:net';
import type { Place } from './connection-places.ts';

interface Handshake {
  readonly socket: Socket;
  readonly place: Place;
}

export class Handshakes {
  /** By their client's address: TLS has a socket of its own for the same connection. */
  readonly #begun = new Map<string, Handshake>();

  begin(socket: Socket, place: Place): void {
    const client = clientOf(socket);
    this.#begun.set(client, { socket, place });
    socket.once('close', () => {
      if (this.#begun.get(client)?.socket === socket) this.#begun.delete(client);
    });
  }

  /** @returns the place of the connection; undefined if it was closed meanwhile */
  end(socket: Socket): Place | undefined {
    const client = clientOf(socket);
    const begun = this.#begun.get(client);
    this.#begun.delete(client);
    return begun?.place;
  }

  cut(): void {
    for (const { socket } of this.#begun.values()) socket.destroy();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
