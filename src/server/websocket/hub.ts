/** All WebSockets of a server: who may open one, which are still alive, how they end. */
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { ApiKey } from '../api-keys.ts';
import type { ServerContext } from '../context.ts';
import { requireAllowedOrigin } from '../cors.ts';
import { requireAllowedHost } from '../hosts.ts';
import { routeNotFound, unavailable, type ApiError } from '../errors.ts';
import { COMPLETION_PATHS } from '../openai/routes.ts';
import { ResponsesSession } from '../responses/web-socket.ts';
import { toApiError } from '../to-api-error.ts';
import { WebSocketSession } from './session.ts';

const POLICY_VIOLATION = 1008;

/** What talks over one socket. */
interface Session {
  drain(): void;
}

interface Tracked {
  readonly session: Session;
  /** What it was opened with; null where no key is needed. */
  readonly key: ApiKey | null;
}

/** What is spoken on each path; undefined where there is no WebSocket. */
function sessionOf(
  path: string,
): ((socket: WebSocket, context: ServerContext, client: string) => Session) | undefined {
  if (path === '/v1/responses') return (...of) => new ResponsesSession(...of);
  const prepare = COMPLETION_PATHS.get(path);
  if (prepare === undefined) return undefined;
  return (...of) => new WebSocketSession(...of, prepare);
}

export class WebSocketHub {
  readonly #context: ServerContext;
  readonly #server: WebSocketServer;
  readonly #sessions = new Map<WebSocket, Tracked>();
  /** Sockets that have answered since the last ping. */
  readonly #alive = new WeakSet<WebSocket>();
  readonly #heartbeat: NodeJS.Timeout;
  #isDraining = false;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: context.config.maxBodyBytes,
    });
    this.#heartbeat = setInterval(() => this.#beat(), context.config.webSocketPingMs).unref();
  }

  /** Makes a WebSocket of the connection, or answers with an HTTP error. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Until the handshake is done nobody else listens.
    socket.on('error', ignoreError);
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    try {
      requireAllowedHost(request, this.#context);
      requireAllowedOrigin(request, this.#context.config);
      const key = this.#context.keys.identify(request.headers);
      const createSession = sessionOf(path);
      if (createSession === undefined) throw routeNotFound('WebSocket', path);
      if (this.#isDraining || this.#context.isDraining()) {
        throw unavailable('The server is shutting down.');
      }
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('error', ignoreError);
        const session = createSession(webSocket, this.#context, key?.client ?? '');
        this.#track(webSocket, { session, key });
      });
    } catch (error) {
      refuseUpgrade(socket, toApiError(error, this.#context.logger));
    }
  }

  /** Closes each socket with 1001 once its requests are done; none opens any more. */
  drain(): void {
    this.#isDraining = true;
    for (const { session } of this.#sessions.values()) session.drain();
  }

  /** Ends the sockets whose key was taken away. */
  dropRevoked(): void {
    for (const [socket, { key }] of this.#sessions) {
      if (!this.#context.keys.isValid(key))
        socket.close(POLICY_VIOLATION, 'the API key was revoked');
    }
  }

  /** Cuts what is still open. */
  terminate(): void {
    clearInterval(this.#heartbeat);
    for (const socket of this.#sessions.keys()) socket.terminate();
  }

  #track(socket: WebSocket, tracked: Tracked): void {
    this.#sessions.set(socket, tracked);
    this.#alive.add(socket);
    socket.on('pong', () => this.#alive.add(socket));
    socket.on('close', () => this.#sessions.delete(socket));
  }

  #beat(): void {
    for (const socket of this.#sessions.keys()) {
      if (this.#alive.delete(socket)) socket.ping();
      else socket.terminate();
    }
  }
}

function ignoreError(): void {}

function refuseUpgrade(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(error.toEnvelope());
  const headers = {
    ...error.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const reason = STATUS_CODES[error.status] ?? '';
  socket.end(`HTTP/1.1 ${error.status} ${reason}\r\n${lines.join('')}\r\n${body}`);
}
