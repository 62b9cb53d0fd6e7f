/** The connections of a port for HTTP: what each is at, and which clients have stopped reading. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cut, guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { type ApiError, tooManyConnections, unavailable } from '../errors.ts';
import type { ConnectionPlaces, NoPlace, Place } from './connection-places.ts';
import { answerRaw, answerWith } from './raw-answer.ts';
import { passOver } from './unread-body.ts';

export interface ReaderLimits {
  /** See LIMITS.stalledReaderMs. */
  readonly stalledReaderMs: number;
  readonly readerBytesPerSecond: number;
}

export interface ConnectionRules extends ReaderLimits {
  /** Whether a request is answered over a connection of the reserve. */
  readonly mayUseReserve: (request: IncomingMessage) => boolean;
  /** Told of each connection that is cut because its client reads nothing. */
  readonly onStalled?: () => void;
}

interface Connection {
  readonly place: Place;
  /** Requests that came while another was being answered; they start in order. */
  readonly waiting: (() => void)[];
  /** Request in progress. */
  request: IncomingMessage | null;
  response: ServerResponse | null;
  /** Bytes sent when last checked, and since when that number has not changed. */
  sentBytes: number;
  sentAt: number;
}

/** How long a connection is idle before a drain closes it: its client, who just read an answer, may be sending. */
const QUIET_MS = 1000;

/** How often readers are checked: a share of the time they have. */
const LOOKS_PER_STALL = 6;

export class Connections {
  readonly #places: ConnectionPlaces;
  readonly #rules: ConnectionRules;
  readonly #open = new Map<Socket, Connection>();
  /** Idle connections, and since when. */
  readonly #idle = new Map<Socket, number>();
  readonly #sweeper: NodeJS.Timeout;
  #isDraining = false;

  constructor(places: ConnectionPlaces, rules: ConnectionRules) {
    this.#places = places;
    this.#rules = rules;
    const everyMs = rules.stalledReaderMs / LOOKS_PER_STALL;
    this.#sweeper = setInterval(() => this.#cutStalled(), everyMs).unref();
  }

  /** Takes a new connection, or answers it with an error when there is no place. */
  add(socket: Socket, place: Place | NoPlace = this.#places.take(socket, true)): void {
    if (typeof place === 'string') {
      answerRaw(socket, this.#refusal(place));
      return;
    }
    place.isReceiving = () => this.#open.get(socket)?.request?.complete === false;
    const now = performance.now();
    this.#open.set(socket, {
      place,
      waiting: [],
      request: null,
      response: null,
      sentBytes: 0,
      sentAt: now,
    });
    this.#idle.set(socket, now);
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
      const passed = (): void => {
        if (!request.complete) passOver(request, socket, response.shouldKeepAlive);
      };
      // The next request of the connection could not begin.
      const fail = (error: unknown): never => cut(error, socket);
      response.prependOnceListener('finish', guarded(passed, fail));
      response.once(
        'close',
        guarded(() => this.#finished(socket, connection), fail),
      );
      if (!connection.place.isReserved) handle();
      else this.#serveReserved(request, response, handle);
    };
    if (connection.response === null) {
      this.#takeUp(socket, connection);
      start();
    } else if (connection.waiting.length < LIMITS.pipelinedRequests) {
      connection.waiting.push(start);
    } else {
      socket.destroy();
    }
  }

  #serveReserved(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    response.shouldKeepAlive = false;
    if (this.#rules.mayUseReserve(request)) handle();
    else answerWith(response, this.#refusal('server'));
  }

  /**
   * A WebSocket is never idle.
   * @returns whether the connection may become one: not while a request is at work.
   */
  upgrade(socket: Socket): boolean {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.response !== null) return false;
    if (connection.place.isReserved) return false;
    this.#takeUp(socket, connection);
    return true;
  }

  /** True once the head of an answer is on its way: no other can be sent instead. */
  isAnswering(socket: Socket): boolean {
    return this.#open.get(socket)?.response?.headersSent ?? false;
  }

  /** Closes idle connections, and the others once they are idle. One in use gets its next request answered. */
  drain(): void {
    this.#isDraining = true;
    for (const socket of this.#idle.keys()) this.#closeWhenQuiet(socket);
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
    } else if (this.#open.has(socket)) {
      this.#idle.set(socket, performance.now());
      connection.place.idle();
      if (this.#isDraining) this.#closeWhenQuiet(socket);
    }
  }

  #closeWhenQuiet(socket: Socket): void {
    const since = this.#idle.get(socket);
    if (since === undefined) return;
    const close = (): void => {
      if (this.#idle.get(socket) === since) socket.destroy();
    };
    const waitMs = since + QUIET_MS - performance.now();
    if (waitMs <= 0) close();
    else setTimeout(close, waitMs).unref();
  }

  #refusal(noPlace: NoPlace): ApiError {
    const { maxConnections, maxConnectionsPerAddress } = this.#places.limits;
    return noPlace === 'address'
      ? tooManyConnections(maxConnectionsPerAddress ?? 0)
      : unavailable(`All ${maxConnections} connections are in use.`);
  }

  #takeUp(socket: Socket, { place }: Connection): void {
    this.#idle.delete(socket);
    place.busy();
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.waiting.length = 0;
    this.#open.delete(socket);
    this.#idle.delete(socket);
  }

  /**
   * Disconnects clients that keep their connection and read nothing. Node counts a large write as
   * sent only when all of it is: so the more bytes wait, the more time they have.
   */
  #cutStalled(): void {
    const { stalledReaderMs, readerBytesPerSecond, onStalled } = this.#rules;
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
      if (now - connection.sentAt <= allowedMs) continue;
      socket.destroy();
      onStalled?.();
    }
  }
}
