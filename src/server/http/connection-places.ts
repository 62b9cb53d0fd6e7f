/**
 * How many connections a server has, over all its ports: each takes a file descriptor, whatever it is
 * for. When all places are taken, a connection that is of least use makes room.
 */
import type { Socket } from 'node:net';
import { connectionAccepted } from '../../accepted-connections.ts';
import { ConnectionReserve } from './connection-reserve.ts';
import { networkOf } from './network-of.ts';

export interface PlaceLimits {
  readonly maxConnections: number;
  /** From one address, or one /64 network of IPv6; null is no limit. */
  readonly maxConnectionsPerAddress: number | null;
}

/** A connection's place, which it has until it is closed. */
export interface Place {
  /** Whether it is one of the reserve. */
  readonly isReserved: boolean;
  /** Whether its request has begun to arrive and is not complete: closing it loses nothing. */
  isReceiving: () => boolean;
  busy(): void;
  /** Nothing is at work: it may have to make room, the longest idle one first. */
  idle(): void;
}

/** Limit that leaves no place. */
export type NoPlace = 'server' | 'address';

/** The connections of an address, or of what counts as one. */
interface Network {
  readonly places: Map<Socket, Place>;
  readonly idle: Set<Socket>;
}

export class ConnectionPlaces {
  readonly limits: PlaceLimits;
  readonly #networks = new Map<string, Network>();
  readonly #reserve = new ConnectionReserve();
  #numTaken = 0;

  constructor(limits: PlaceLimits) {
    this.limits = limits;
  }

  /**
   * Takes a place for a connection, which is idle at first.
   * @param mayBeReserved whether a place of the reserve is of use to it, if all others are at work
   */
  take(socket: Socket, mayBeReserved: boolean): Place | NoPlace {
    connectionAccepted();
    const { maxConnections, maxConnectionsPerAddress } = this.limits;
    const name = networkOf(socket.remoteAddress);
    const numOwn = this.#networks.get(name)?.places.size ?? 0;
    if (numOwn >= (maxConnectionsPerAddress ?? Infinity)) return 'address';
    if (this.#numTaken >= maxConnections && !this.#makeRoom()) {
      return (mayBeReserved && this.#takeReserved(socket, name)) || 'server';
    }
    return this.#takeOrdinary(socket, name);
  }

  #takeOrdinary(socket: Socket, name: string): Place {
    const network: Network = this.#networks.get(name) ?? { places: new Map(), idle: new Set() };
    const place: Place = {
      isReserved: false,
      isReceiving: () => false,
      busy: () => void network.idle.delete(socket),
      idle: () => {
        if (network.places.has(socket)) network.idle.add(socket);
      },
    };
    this.#networks.set(name, network);
    network.places.set(socket, place);
    network.idle.add(socket);
    this.#numTaken++;
    socket.once('close', () => this.#leave(socket, name, network));
    return place;
  }

  #takeReserved(socket: Socket, name: string): Place | null {
    const guest = this.#reserve.take(socket, name);
    return (
      guest && {
        isReserved: true,
        isReceiving: () => false,
        busy: () => void (guest.isBusy = true),
        idle: () => void (guest.isBusy = false),
      }
    );
  }

  /**
   * Closes a connection of the network that has the most: whoever opens many pushes out its own.
   * @returns false when all are busy
   */
  #makeRoom(): boolean {
    return this.#closeFirst(({ idle }) => firstOf(idle)) || this.#closeFirst(firstReceiving);
  }

  #closeFirst(find: (network: Network) => Socket | undefined): boolean {
    let first: {
      readonly socket: Socket;
      readonly network: Network;
      readonly name: string;
    } | null = null;
    for (const [name, network] of this.#networks) {
      if (first !== null && network.places.size <= first.network.places.size) continue;
      const socket = find(network);
      if (socket !== undefined) first = { socket, network, name };
    }
    if (first === null) return false;
    this.#leave(first.socket, first.name, first.network);
    first.socket.destroy();
    return true;
  }

  #leave(socket: Socket, name: string, network: Network): void {
    if (!network.places.delete(socket)) return;
    this.#numTaken--;
    network.idle.delete(socket);
    if (network.places.size === 0) this.#networks.delete(name);
  }
}

function firstOf<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value;
  return undefined;
}

function firstReceiving({ places }: Network): Socket | undefined {
  for (const [socket, place] of places) if (place.isReceiving()) return socket;
  return undefined;
}
