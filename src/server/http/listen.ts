/** Opens the port, and closes it without dropping running requests. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type Server as NetServer, Socket, type AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { LIMITS } from '../../limits.ts';
import { Connections, type ConnectionLimits } from './connections.ts';
import type { ServerEnv } from '../context.ts';
import { Handshakes } from './handshakes.ts';
import { notARequest } from '../errors.ts';
import { PlainRequest } from './plain-request.ts';
import { answerRaw } from './raw-answer.ts';
import type { TlsContext } from './tls.ts';
import type { WebSocketHub } from '../websocket/hub.ts';

/** After this much silence TCP asks whether the peer is still there. */
const TCP_PROBE_MS = 30_000;

/** Longer than the 60 s after which common load balancers drop an idle connection: they must be first. */
const IDLE_CONNECTION_MS = 75_000;

/** How often Node looks for requests that take too long to arrive, within the time for a head. */
const CHECKS_PER_HEAD = 6;

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Left out where there are none. */
  readonly webSockets?: WebSocketHub;
  /** Which flag says the port. */
  readonly flag?: string;
  /** Left out, or null, for plain text. */
  readonly tls?: TlsContext | null;
  readonly connections?: Partial<ConnectionOptions>;
}

export interface ConnectionOptions extends ConnectionLimits {
  /** See LIMITS.headMs. */
  readonly headMs: number;
  /** Milliseconds that a whole request may take to arrive. */
  readonly receiveMs: number;
}

const DEFAULT_CONNECTIONS: ConnectionOptions = {
  maxConnections: LIMITS.connections,
  maxConnectionsPerAddress: null,
  stalledReaderMs: LIMITS.stalledReaderMs,
  readerBytesPerSecond: LIMITS.readerBytesPerSecond,
  headMs: LIMITS.headMs,
  receiveMs: LIMITS.receiveMs,
};

export interface Listener {
  /** Such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** For connections that are opened from now on; of no effect without TLS. */
  setTls(tls: TlsContext): void;
  /**
   * Stops accepting connections, lets running requests finish, and cuts what is left after
   * `graceMs`. Resolves when every connection is closed.
   */
  close(graceMs: number): Promise<void>;
}

/** The port can't be opened. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** @throws ListenError in one line, such as for a port that is taken. */
export async function listen(app: Hono<ServerEnv>, options: ListenOptions): Promise<Listener> {
  const { host, port, webSockets, flag = '--port', tls = null } = options;
  const limits = { ...DEFAULT_CONNECTIONS, ...options.connections };
  const connections = new Connections(limits);
  const handshakes = new Handshakes();
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const serve: RequestListener = (request, response) => {
    connections.serve(request, response, () => void handle(request, response));
  };
  const tlsServer =
    tls &&
    createTlsServer(
      { ...httpOptions(limits), ...tls, handshakeTimeout: LIMITS.tlsHandshakeMs },
      serve,
    );
  const server: Server = tlsServer ?? createServer(httpOptions(limits), serve);
  server.maxHeadersCount = LIMITS.headerFields;
  if (tlsServer) {
    // Connections whose TLS handshake is not done are not counted yet, but take descriptors.
    tlsServer.maxConnections = 2 * limits.maxConnections;
    tlsServer.on('connection', (socket: Socket) => handshakes.begin(socket));
  }
  server.on(tlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    handshakes.end(socket);
    connections.add(socket);
  });
  server.on('upgrade', (request, _socket, head) => {
    const { socket } = request;
    if (webSockets && connections.upgrade(socket)) webSockets.handleUpgrade(request, socket, head);
    else socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    if (!(duplex instanceof Socket) || !duplex.writable || connections.isAnswering(duplex)) {
      duplex.destroy();
    } else {
      answerRaw(duplex, notARequest(error.code));
    }
  });
  const address = await openPort(server, host, port, flag);
  return {
    url: toUrl(tls ? 'https' : 'http', host, address.port),
    setTls: (renewed) => tlsServer?.setSecureContext(renewed),
    async close(graceMs) {
      webSockets?.drain();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      connections.drain();
      // Node would wait until their time is over.
      handshakes.cut();
      const cut = setTimeout(() => {
        webSockets?.terminate();
        server.closeAllConnections();
      }, graceMs);
      await closed;
      clearTimeout(cut);
      connections.close();
      webSockets?.terminate();
    },
  };
}

function httpOptions({ headMs, receiveMs }: ConnectionOptions) {
  return {
    IncomingMessage: PlainRequest,
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    headersTimeout: Math.min(headMs, receiveMs),
    requestTimeout: receiveMs,
    connectionsCheckingInterval: Math.ceil(headMs / CHECKS_PER_HEAD),
  };
}

/** @param flag which port it is. @throws ListenError */
export function openPort(
  server: NetServer,
  host: string,
  port: number,
  flag: string,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new ListenError(explainListenError(error, host, port, flag), { cause: error }));
    });
    server.listen(port, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') {
        reject(new ListenError('the server listens on no TCP port'));
      } else {
        resolve(address);
      }
    });
  });
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
