/** Connections whose TLS handshake is not done: nothing was asked over them, so nothing waits for them. */
import type { Socket } from 'node:net';

export class Handshakes {
  /** By their client's address: TLS has a socket of its own for the same connection. */
  readonly #sockets = new Map<string, Socket>();

  begin(socket: Socket): void {
    const client = clientOf(socket);
    this.#sockets.set(client, socket);
    socket.once('close', () => {
      if (this.#sockets.get(client) === socket) this.#sockets.delete(client);
    });
  }

  end(socket: Socket): void {
    this.#sockets.delete(clientOf(socket));
  }

  cut(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
