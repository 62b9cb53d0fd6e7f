/** A few places for when all others are at work: for probes and the operator, one request each. */
import type { Socket } from 'node:net';
import { LIMITS } from '../../limits.ts';

interface Guest {
  readonly network: string;
  isBusy: boolean;
}

export class ConnectionReserve {
  readonly #guests = new Map<Socket, Guest>();

  /**
   * Lets a connection in, for which another one may have to leave that has not asked for anything yet:
   * the oldest of the network that has the most, so that whoever opens many pushes out its own. One that
   * stays silent is closed.
   * @returns null when all are at work
   */
  take(socket: Socket, network: string): Guest | null {
    if (this.#guests.size >= LIMITS.reservedConnections && !this.#makeRoom()) return null;
    const guest = { network, isBusy: false };
    this.#guests.set(socket, guest);
    const end = setTimeout(() => {
      if (!guest.isBusy) socket.destroy();
    }, LIMITS.reservedMs);
    socket.once('close', () => {
      clearTimeout(end);
      this.#guests.delete(socket);
    });
    return guest;
  }

  #makeRoom(): boolean {
    const numOf = new Map<string, number>();
    for (const { network } of this.#guests.values()) {
      numOf.set(network, (numOf.get(network) ?? 0) + 1);
    }
    let oldest: Socket | undefined;
    let most = 0;
    for (const [socket, { network, isBusy }] of this.#guests) {
      const num = numOf.get(network) ?? 0;
      if (isBusy || num <= most) continue;
      oldest = socket;
      most = num;
    }
    if (oldest === undefined) return false;
    this.#guests.delete(oldest);
    oldest.destroy();
    return true;
  }
}
