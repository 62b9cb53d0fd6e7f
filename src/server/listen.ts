/** Opens the port, and closes it without dropping what is at work. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { LIMITS } from '../limits.ts';
import type { ServerEnv } from './context.ts';
import { serveWithoutUpgrade } from './plain-upgrade.ts';
import type { TlsContext } from './tls.ts';
import type { WebSocketHub } from './websocket/hub.ts';

/** After this much silence TCP asks whether the peer is still there. */
const TCP_PROBE_MS = 30_000;

/** Longer than the 60 s after which common load balancers drop an idle connection: they must be first. */
const IDLE_CONNECTION_MS = 75_000;

export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly webSockets: WebSocketHub;
  /** Left out, or null, for plain text. */
  readonly tls?: TlsContext | null;
}

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
  const { host, port, webSockets, tls = null } = options;
  const handle = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  let isClosing = false;
  const connections = {
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // Newer than the types of the oldest Node that is supported, which knows `upgrade` events only.
    shouldUpgradeCallback: offersWebSocket,
  };
  /** Connections without a request so far, as browsers and Node's `fetch` open ahead of need. */
  const unused = new Set<Socket>();
  const serve: RequestListener = (request, response) => {
    unused.delete(request.socket);
    response.on('close', () => {
      // Its connection is idle only after this event.
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
    void handle(request, response);
  };
  const tlsServer =
    tls &&
    createTlsServer({ ...connections, ...tls, handshakeTimeout: LIMITS.tlsHandshakeMs }, serve);
  const server: Server = tlsServer ?? createServer(connections, serve);
  const opened = tlsServer ? 'secureConnection' : 'connection';
  server.on(opened, (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('upgrade', (request, socket, head) => {
    unused.delete(request.socket);
    if (offersWebSocket(request)) {
      webSockets.handleUpgrade(request, socket, head);
    } else {
      serveWithoutUpgrade(request, socket, head, () => server.emit(opened, socket));
    }
  });
  const address = await open(server, host, port);
  return {
    url: toUrl(tls ? 'https' : 'http', host, address.port),
    setTls: (renewed) => tlsServer?.setSecureContext(renewed),
    async close(graceMs) {
      isClosing = true;
      webSockets.drain();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // Node takes them for busy: a request may be on its way.
      for (const socket of unused) socket.destroy();
      const cut = setTimeout(() => {
        webSockets.terminate();
        server.closeAllConnections();
      }, graceMs);
      await closed;
      clearTimeout(cut);
      webSockets.terminate();
    },
  };
}

function offersWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

function open(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new ListenError(explain(error, host, port), { cause: error }));
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

function explain(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken; stop what uses it or choose another with --port`;
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
