/**
 * Every connection of a server: how many there may be, which are busy, which clients have stopped
 * reading.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../../limits.ts';
import { tooManyConnections, unavailable } from '../errors.ts';
import { networkOf } from './network-of.ts';
import { answerRaw } from './raw-answer.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** From one address, or one /64 network of IPv6; null is no limit. */
  readonly maxConnectionsPerAddress: number | null;
  /** See LIMITS.stalledReaderMs. */
  readonly stalledReaderMs: number;
  readonly readerBytesPerSecond: number;
}

interface Connection {
  readonly network: string;
  /** Requests that came while another was being answered; they start in order. */
  readonly waiting: (() => void)[];
  /** What is at work. */
  request: IncomingMessage | null;
  response: ServerResponse | null;
  /** Bytes sent when last checked, and since when that number has not changed. */
  sentBytes: number;
  sentAt: number;
}

/** How often readers are checked: a share of the time they have. */
const LOOKS_PER_STALL = 6;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Map<Socket, Connection>();
  readonly #perNetwork = new Map<string, number>();
  /** Idle connections, the longest idle first. */
  readonly #idle = new Set<Socket>();
  readonly #sweeper: NodeJS.Timeout;
  #isDraining = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    const everyMs = limits.stalledReaderMs / LOOKS_PER_STALL;
    this.#sweeper = setInterval(() => this.#cutStalled(), everyMs).unref();
  }

  /** Takes a new connection, or answers it with an error when there is no room. */
  add(socket: Socket): void {
    const { maxConnections, maxConnectionsPerAddress } = this.#limits;
    const network = networkOf(socket.remoteAddress ?? '');
    const numOfNetwork = this.#perNetwork.get(network) ?? 0;
    if (maxConnectionsPerAddress !== null && numOfNetwork >= maxConnectionsPerAddress) {
      answerRaw(socket, tooManyConnections(maxConnectionsPerAddress));
      return;
    }
    if (this.#open.size >= maxConnections && !this.#makeRoom()) {
      answerRaw(socket, unavailable(`All ${maxConnections} connections are in use.`));
      return;
    }
    this.#perNetwork.set(network, numOfNetwork + 1);
    this.#open.set(socket, {
      network,
      waiting: [],
      request: null,
      response: null,
      sentBytes: 0,
      sentAt: performance.now(),
    });
    this.#idle.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /**
   * Serves requests of one connection one after the other: Node emits all pipelined requests at
   * once. A connection with too many of them is closed.
   */
  serve(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    const connection = this.#open.get(socket);
    if (connection === undefined || socket.destroyed) return;
    const start = (): void => {
      connection.request = request;
      connection.response = response;
      response.once('close', () => this.#finished(socket, connection));
      handle();
    };
    if (connection.response === null) {
      this.#idle.delete(socket);
      start();
    } else if (connection.waiting.length < LIMITS.pipelinedRequests) {
      connection.waiting.push(start);
    } else {
      socket.destroy();
    }
  }

  /**
   * A WebSocket is never idle.
   * @returns whether the connection may become one: not while a request is at work.
   */
  upgrade(socket: Socket): boolean {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.response !== null) return false;
    this.#idle.delete(socket);
    return true;
  }

  /** True once the head of an answer is on its way: no other can be sent instead. */
  isAnswering(socket: Socket): boolean {
    return this.#open.get(socket)?.response?.headersSent ?? false;
  }

  /** Closes idle connections, and the others as soon as they are idle. */
  drain(): void {
    this.#isDraining = true;
    for (const socket of this.#idle) socket.destroy();
  }

  /** Stops watching what is still open. */
  close(): void {
    clearInterval(this.#sweeper);
  }

  #finished(socket: Socket, connection: Connection): void {
    connection.request = null;
    connection.response = null;
    const next = connection.waiting.shift();
    if (next !== undefined) {
      next();
    } else if (this.#isDraining) {
      socket.destroySoon();
    } else if (this.#open.has(socket)) {
      this.#idle.add(socket);
    }
  }

  /** @returns false when all are busy. */
  #makeRoom(): boolean {
    const [idle] = this.#idle;
    const socket = idle ?? this.#longestReceiving();
    if (socket === undefined) return false;
    this.#forget(socket);
    socket.destroy();
    return true;
  }

  /** The oldest connection whose request has not arrived completely: closing it loses nothing. */
  #longestReceiving(): Socket | undefined {
    for (const [socket, { request }] of this.#open) {
      if (request?.complete === false) return socket;
    }
    return undefined;
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.waiting.length = 0;
    this.#open.delete(socket);
    this.#idle.delete(socket);
    const numOfNetwork = this.#perNetwork.get(connection.network) ?? 0;
    if (numOfNetwork > 1) this.#perNetwork.set(connection.network, numOfNetwork - 1);
    else this.#perNetwork.delete(connection.network);
  }

  /**
   * Disconnects clients that keep their connection and read nothing. Node counts a large write as
   * sent only when all of it is: so the more bytes wait, the more time they have.
   */
  #cutStalled(): void {
    const { stalledReaderMs, readerBytesPerSecond } = this.#limits;
    const now = performance.now();
    for (const [socket, connection] of this.#open) {
      const waitingBytes = socket.writableLength;
      const sentBytes = socket.bytesWritten - waitingBytes;
      if (waitingBytes === 0 || sentBytes !== connection.sentBytes) {
        connection.sentBytes = sentBytes;
        connection.sentAt = now;
        continue;
      }
      const allowedMs = stalledReaderMs + (waitingBytes / readerBytesPerSecond) * 1000;
      if (now - connection.sentAt > allowedMs) socket.destroy();
    }
  }
}
