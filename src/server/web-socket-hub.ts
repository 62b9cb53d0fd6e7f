/** All WebSockets of a server: who may open one, which are still alive, how they end. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { ADMIN_CLIENT, type ApiKey } from './auth/api-keys.ts';
import type { ServerContext } from './context.ts';
import { requireAllowedOrigin } from './http/cors.ts';
import { LIMITS } from '../limits.ts';
import { requireAllowedHost } from './http/hosts.ts';
import type { UpgradeHandler } from './http/listen.ts';
import { requireSoundHead } from './http/request-head.ts';
import { routeNotFound, unavailable } from './errors.ts';
import { COMPLETION_PATHS } from './openai/apis.ts';
import { answerRaw } from './http/raw-answer.ts';
import { RESPONSES_PATH } from './responses/api.ts';
import { ResponsesSession } from './responses/web-socket.ts';
import { toApiError } from './to-api-error.ts';
import { accountOf } from './rates/limit-rates.ts';
import { finishRequest } from './operating/finish-request.ts';
import type { Peer } from './operating/peer.ts';
import { chooseProtocol, withProtocolKey } from './websocket/protocol-key.ts';
import { ClientCounts } from './websocket/client-counts.ts';
import { FrameTurns } from './websocket/frame-turns.ts';
import { FrameWriter } from './websocket/frame-writer.ts';
import { WebSocketSession } from './websocket/socket-session.ts';

const POLICY_VIOLATION = 1008;

/** The session of one socket. */
interface Session {
  drain(): void;
}

interface Tracked {
  readonly session: Session;
  /** Key that it was opened with; null where no key is needed. */
  readonly key: ApiKey | null;
}

type CreateSession = (
  ...of: [WebSocket, FrameWriter, ServerContext, peer: Peer, turns: FrameTurns]
) => Session;

/** The protocol of each path; undefined where there is no WebSocket. */
function sessionOf(path: string): CreateSession | undefined {
  if (path === RESPONSES_PATH) return (...of) => new ResponsesSession(...of);
  const prepare = COMPLETION_PATHS.get(path);
  if (prepare === undefined) return undefined;
  return (...of) => new WebSocketSession(...of, { path, prepare });
}

/** Least mean size of a message's pieces: less than any network's packets carry. */
const MIN_CHUNK_BYTES = 512;

export class WebSocketHub implements UpgradeHandler {
  readonly #context: ServerContext;
  readonly #server: WebSocketServer;
  readonly #turns = new FrameTurns();
  readonly #atWork = new ClientCounts(LIMITS.clientSocketRequests);
  readonly #sessions = new Map<WebSocket, Tracked>();
  /** Sockets that have answered since the last ping. */
  readonly #alive = new WeakSet<WebSocket>();
  readonly #heartbeat: NodeJS.Timeout;
  #isDraining = false;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#server = new WebSocketServer(webSocketOptions(context.config.maxBodyBytes));
    this.#heartbeat = setInterval(() => this.#beat(), context.config.webSocketPingMs).unref();
  }

  /** Makes a WebSocket of the connection, or answers with an HTTP error. */
  handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // Until the handshake is done nothing else listens.
    socket.on('error', ignoreError);
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    try {
      requireSoundHead(request);
      requireAllowedHost(request, this.#context);
      requireAllowedOrigin(request, this.#context.config);
      const key = this.#context.keys.identify(withProtocolKey(request.headers));
      const createSession = sessionOf(path);
      if (createSession === undefined) throw routeNotFound('WebSocket', path);
      if (this.#isDraining || this.#context.isDraining()) {
        throw unavailable('The server is shutting down.');
      }
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('error', ignoreError);
        const peer = peerOf(key, request, path, this.#context, this.#atWork);
        const writer = new FrameWriter(webSocket, socket);
        webSocket.on('close', this.#hold(webSocket, writer, peer));
        const session = createSession(webSocket, writer, this.#context, peer, this.#turns);
        this.#track(webSocket, socket, { session, key });
      });
    } catch (error) {
      answerRaw(socket, toApiError(error, this.#context.logger));
    }
  }

  /** Closes each socket with 1001 once its requests are done; no new one opens. */
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

  /** Counts what waits to be read. @returns ends that */
  #hold(socket: WebSocket, writer: FrameWriter, { client }: Peer): () => void {
    return this.#context.unread.hold(client, {
      get numBytes() {
        return writer.numUnread;
      },
      connection: writer.connection,
      cut() {
        socket.close(POLICY_VIOLATION, 'slow_reader');
        setTimeout(() => socket.terminate(), LIMITS.unreadMs).unref();
      },
    });
  }

  #track(socket: WebSocket, connection: Socket, tracked: Tracked): void {
    this.#sessions.set(socket, tracked);
    this.#alive.add(socket);
    socket.on('pong', () => this.#alive.add(socket));
    // A client that is busy reading answers the ping late.
    connection.on('drain', () => this.#alive.add(socket));
    socket.on('close', () => this.#sessions.delete(socket));
  }

  #beat(): void {
    for (const socket of this.#sessions.keys()) {
      if (this.#alive.delete(socket)) socket.ping();
      else socket.terminate();
    }
  }
}

function peerOf(
  key: ApiKey | null,
  request: IncomingMessage,
  path: string,
  context: ServerContext,
  atWork: ClientCounts,
): Peer {
  const client = key?.client ?? '';
  const account = accountOf(client, request);
  const { headers } = request;
  return {
    client,
    begin: () => atWork.begin(client),
    takeRequest: async () =>
      client === ADMIN_CLIENT ? undefined : context.rates.takeRequest(account),
    finished: (finished) =>
      finishRequest(context, { ...finished, client, method: 'WS', path, route: path, headers }),
  };
}

function webSocketOptions(maxPayload: number) {
  return {
    noServer: true,
    clientTracking: false,
    maxPayload,
    maxFragments: LIMITS.messageFragments,
    // A chunk of the network takes more memory than its bytes.
    maxBufferedChunks: Math.ceil(maxPayload / MIN_CHUNK_BYTES),
    perMessageDeflate: false,
    handleProtocols: chooseProtocol,
    // Otherwise all frames of a chunk come at once: 64 KiB hold 8,000.
    allowSynchronousEvents: false,
    // Newer than its types.
    closeTimeout: LIMITS.socketCloseMs,
  };
}

function ignoreError(): void {}
