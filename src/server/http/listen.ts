/** Opens the port, and closes it without dropping running requests. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type Server as NetServer, Socket, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { cut, guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { ClosingResponse } from './closing-response.ts';
import { type ConnectionRules, Connections } from './connections.ts';
import { ConnectionPlaces } from './connection-places.ts';
import type { ServerEnv } from '../context.ts';
import { Handshakes } from './handshakes.ts';
import { ApiError, notARequest } from '../errors.ts';
import { PlainRequest } from './plain-request.ts';
import { answerRaw, answerWith } from './raw-answer.ts';
import { networkOf } from './network-of.ts';
import { LoopTurns } from '../../loop-turns.ts';
import { requireSoundHead } from './request-head.ts';
import { withoutRoot } from './root-path.ts';
import { startListening } from './start-listening.ts';
import { openUnixSocket } from './unix-socket.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { UserError } from '../../user-error.ts';
import type { TlsContext } from './tls.ts';

/** After this much silence TCP asks whether the peer is still there. */
const TCP_PROBE_MS = 30_000;

/** Longer than the 60 s after which common load balancers drop an idle connection: they must be first. */
const IDLE_CONNECTION_MS = 75_000;

/** How often Node looks for requests that take too long to arrive, within the time for a head. */
const CHECKS_PER_HEAD = 6;

/** Takes connections that become WebSockets. */
export interface UpgradeHandler {
  /** Makes a WebSocket of the connection, or answers with an HTTP error. */
  handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
  /** Closes each once its requests are done; no new one opens. */
  drain(): void;
  /** Cuts all that are open. */
  terminate(): void;
}

export interface ListenOptions {
  /** Or `unix:` and a path. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** See `withoutRoot`; empty if left out. */
  readonly rootPath?: string;
  /** Left out where there are none. */
  readonly webSockets?: UpgradeHandler;
  /** Which flag says the port. */
  readonly flag?: string;
  /** Left out, or null, for plain text. */
  readonly tls?: TlsContext | null;
  readonly connections?: Partial<ConnectionOptions>;
  /** Which requests begin at once, before those that have come earlier; none if left out. */
  readonly isUrgent?: (request: IncomingMessage) => boolean;
}

export interface ConnectionOptions extends ConnectionRules {
  /** Shared by all ports of a server. */
  readonly places: ConnectionPlaces;
  /** See LIMITS.headMs. */
  readonly headMs: number;
  /** Milliseconds that a whole request may take to arrive. */
  readonly receiveMs: number;
}

const DEFAULT_CONNECTIONS = {
  stalledReaderMs: LIMITS.stalledReaderMs,
  readerBytesPerSecond: LIMITS.readerBytesPerSecond,
  headMs: LIMITS.headMs,
  receiveMs: LIMITS.receiveMs,
  mayUseReserve: () => true,
};

export interface Listener {
  /** Such as `http://127.0.0.1:8000`, or `unix:/run/chairlift.sock`. */
  readonly url: string;
  /** For connections that are opened from now on; of no effect without TLS. */
  setTls(tls: TlsContext): void;
  /** Closes connections as soon as they are idle, and opens no more WebSockets; answers requests. */
  drain(): void;
  /**
   * Stops accepting connections, lets running requests finish, and cuts what is left after
   * `graceMs`. Resolves when every connection is closed.
   */
  close(graceMs: number): Promise<void>;
}

/** @throws UserError in one line, such as for a port that is taken. */
export async function listen(app: Hono<ServerEnv>, options: ListenOptions): Promise<Listener> {
  const {
    host,
    port,
    rootPath = '',
    webSockets,
    flag = '--port',
    tls = null,
    isUrgent = () => false,
  } = options;
  const places = new ConnectionPlaces({
    maxConnections: LIMITS.connections,
    maxConnectionsPerAddress: null,
  });
  const limits: ConnectionOptions = { places, ...DEFAULT_CONNECTIONS, ...options.connections };
  const connections = new Connections(limits.places, limits);
  const handshakes = new Handshakes();
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const turns = new LoopTurns(LIMITS.requestsPerTurn);
  const begin = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await turns.next(networkOf(request.socket.remoteAddress));
    if (!response.destroyed) await handle(request, response);
  };
  const serve: RequestListener = guarded(
    (request, response) => {
      request.url = withoutRoot(request.url ?? '/', rootPath);
      connections.serve(request, response, () => {
        if (!isSound(request, response)) return;
        if (isUrgent(request)) void handle(request, response);
        else begin(request, response).catch((error: unknown) => cut(error, request.socket));
      });
    },
    (error, { socket }) => cut(error, socket),
  );
  const tlsServer =
    tls &&
    createTlsServer(
      { ...httpOptions(limits), ...tls, handshakeTimeout: LIMITS.tlsHandshakeMs },
      serve,
    );
  const server: Server = tlsServer ?? createServer(httpOptions(limits), serve);
  server.maxHeadersCount = LIMITS.headerFields;
  if (tlsServer) {
    const greet = (socket: Socket): void => {
      const place = limits.places.take(socket, true);
      if (typeof place === 'string') socket.destroy();
      else handshakes.begin(socket, place);
    };
    const connect = (socket: Socket): void => {
      const place = handshakes.end(socket);
      if (place === undefined) socket.destroy();
      else connections.add(socket, place);
    };
    tlsServer.on('connection', guarded(greet, cut));
    tlsServer.on('secureConnection', guarded(connect, cut));
  } else {
    server.on(
      'connection',
      guarded((socket: Socket) => connections.add(socket), cut),
    );
  }
  const upgrade = (request: IncomingMessage, _socket: Duplex, head: Buffer): void => {
    const { socket } = request;
    request.url = withoutRoot(request.url ?? '/', rootPath);
    if (webSockets && connections.upgrade(socket)) webSockets.handleUpgrade(request, socket, head);
    else socket.destroy();
  };
  server.on(
    'upgrade',
    guarded(upgrade, (error, { socket }) => cut(error, socket)),
  );
  const refuse = (duplex: Duplex, { code }: NodeJS.ErrnoException): void => {
    if (!(duplex instanceof Socket) || !duplex.writable || connections.isAnswering(duplex)) {
      duplex.destroy();
    } else {
      answerRaw(duplex, notARequest(code));
    }
  };
  const guardedRefuse = guarded(refuse, cut);
  server.on('clientError', (error, duplex) => guardedRefuse(duplex, error));
  const socketPath = socketPathOf(host);
  let url = host;
  if (socketPath !== null) await openUnixSocket(server, socketPath);
  else url = toUrl(tls ? 'https' : 'http', host, (await openPort(server, host, port, flag)).port);
  const drain = (): void => {
    webSockets?.drain();
    connections.drain();
  };
  return {
    url,
    setTls: (renewed) => tlsServer?.setSecureContext(renewed),
    drain,
    async close(graceMs) {
      drain();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // Node would wait until their time is over.
      handshakes.cut();
      const grace = setTimeout(() => {
        webSockets?.terminate();
        server.closeAllConnections();
      }, graceMs);
      await closed;
      clearTimeout(grace);
      connections.close();
      webSockets?.terminate();
    },
  };
}

/** @returns false for a request that has been refused */
function isSound(request: IncomingMessage, response: ServerResponse): boolean {
  try {
    requireSoundHead(request);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    answerWith(response, error);
    return false;
  }
}

function httpOptions({ headMs, receiveMs }: ConnectionOptions) {
  return {
    IncomingMessage: PlainRequest,
    ServerResponse: ClosingResponse,
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    headersTimeout: Math.min(headMs, receiveMs),
    requestTimeout: receiveMs,
    connectionsCheckingInterval: Math.ceil(headMs / CHECKS_PER_HEAD),
  };
}

/** @param flag which port it is. @throws UserError */
export async function openPort(
  server: NetServer,
  host: string,
  port: number,
  flag: string,
): Promise<AddressInfo> {
  await startListening(server, { host, port }, (error) =>
    explainListenError(error, host, port, flag),
  );
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new UserError('the server does not listen on a TCP port');
  }
  return address;
}

/** Why a port can't be opened, and what to do. @param flag which port it is */
export function explainListenError(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
  flag = '--port',
): string {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken; stop what uses it or choose another with ${flag}`;
    case 'EACCES':
      return `no permission to open port ${port} on ${host}; ports from 1024 on need none`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no address ${host}; choose another with --host`;
    default:
      return `can't listen on ${host}:${port}: ${error.message}`;
  }
}

function toUrl(protocol: string, host: string, port: number): string {
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
