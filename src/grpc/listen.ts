/** Opens the port for gRPC, and closes it without dropping what is at work. */
import { setMaxListeners } from 'node:events';
import {
  createSecureServer,
  createServer as createHttp2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer, type Socket } from 'node:net';
import type { DescMethod } from '@bufbuild/protobuf';
import { cut, guarded } from '../guarded.ts';
import { LIMITS } from '../limits.ts';
import type { ServerContext } from '../server/context.ts';
import { type ApiError, unavailable } from '../server/errors.ts';
import type { ConnectionPlaces, Place } from '../server/http/connection-places.ts';
import { openPort } from '../server/http/listen.ts';
import { networkOf } from '../server/http/network-of.ts';
import { LoopTurns } from '../loop-turns.ts';
import type { TlsContext } from '../server/http/tls.ts';
import { CallStream, closeWith } from './call-stream.ts';
import { healthService } from './health-service.ts';
import { inferenceService } from './inference-service.ts';
import { Health } from './proto/health_pb.ts';
import { GRPCInferenceService } from './proto/inference_pb.ts';
import { ServerReflection } from './proto/reflection_pb.ts';
import { reflectionService } from './reflection-service.ts';
import { pathOf, Services } from './service.ts';
import { SessionGuard } from './session-guard.ts';
import { toStatus } from './status.ts';

/** TCP asks after this much silence whether the peer is still there. */
const TCP_PROBE_MS = 30_000;

/** Megabytes of a connection: heads of calls, and answers that its client has not taken. */
const SESSION_MB = 64;

/** Requests of methods without a key have at most this many bytes. */
const OPEN_MESSAGE_BYTES = 65_536;

export interface GrpcOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Null for plain text. */
  readonly tls: TlsContext | null;
  /** Milliseconds that a message may take to arrive. */
  readonly receiveMs: number;
  /** Whether health, probes and reflection need no key. */
  readonly publicHealth: boolean;
  /** Shared by all ports of the server. */
  readonly places: ConnectionPlaces;
}

export interface GrpcListener {
  readonly port: number;
  /** For connections that come from now on. */
  setTls(tls: TlsContext): void;
  /** Calls at work may go on for `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const { serverLive, serverReady, serverMetadata } = GRPCInferenceService.method;

/** Methods that need no key where health is public. */
const HEALTH: ReadonlySet<DescMethod> = new Set([
  ...Health.methods,
  ...ServerReflection.methods,
  ...[serverLive, serverReady, serverMetadata],
]);

/** Calls that are answered over a connection of the reserve. */
const PROBES: ReadonlySet<string> = new Set(
  [Health.method.check, serverLive, serverReady].map(pathOf),
);

/** @throws UserError in one line, such as for a port that is taken */
export async function listenGrpc(
  context: ServerContext,
  options: GrpcOptions,
): Promise<GrpcListener> {
  const closing = new AbortController();
  // Every stream listens; Node would take more than ten for a leak.
  setMaxListeners(0, closing.signal);
  const services = servicesOf(context, options, closing.signal);
  const guard = new SessionGuard();
  const places = new Map<string, Place>();
  const { tls } = options;
  const secure =
    tls &&
    createSecureServer({ ...HTTP2_OPTIONS, ...tls, handshakeTimeout: LIMITS.tlsHandshakeMs });
  const http2 = secure ?? createHttp2Server(HTTP2_OPTIONS);
  /** Connections of the reserve: one probe, or call of the operator's, each. */
  const reserved = new WeakSet<Http2Session>();
  const open = (session: ServerHttp2Session): void => {
    const place = places.get(peerOf(session.socket)) ?? null;
    guard.add(session, place);
    if (place === null || !place.isReserved) return;
    reserved.add(session);
    session.once('stream', (stream) => stream.once('close', () => session.close()));
  };
  const mayBegin = ({ session }: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean =>
    session === undefined ||
    !reserved.has(session) ||
    PROBES.has(String(headers[':path'])) ||
    context.keys.isAdmin(headers);
  http2.on('session', guarded(open, cut));
  // Not after connections: meanwhile a call's frames wait as objects, each of many times its bytes.
  const turns = new LoopTurns(LIMITS.requestsPerTurn, setImmediate);
  const serve = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    try {
      // Its close says the same.
      stream.on('error', () => {});
      await turns.next(networkOf(stream.session?.socket.remoteAddress ?? ''));
      // A call that was reset while it waited costs nothing more.
      if (!stream.destroyed) services.serve(new CallStream(stream, headers));
    } catch (error) {
      closeWith(stream, error);
    }
  };
  const begin = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    if (!isCall(headers)) refuse(stream);
    else if (mayBegin(stream, headers)) void serve(stream, headers);
    else new CallStream(stream, headers).end(toStatus(allInUse(options.places)));
  };
  http2.on(
    'stream',
    guarded(begin, (error, stream) => closeWith(stream, error)),
  );
  const sockets = new Set<Socket>();
  const tcp = { keepAlive: true, keepAliveInitialDelay: TCP_PROBE_MS, noDelay: true };
  const connect = (socket: Socket): void => {
    // Without a listener it would end the process; its session learns of it when the socket ends.
    socket.on('error', () => socket.destroy());
    const place = options.places.take(socket, true);
    if (typeof place === 'string') {
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    sockets.add(socket);
    places.set(peer, place);
    socket.once('close', () => {
      sockets.delete(socket);
      places.delete(peer);
    });
    const start = (): void => {
      if (closing.signal.aborted) socket.destroy();
      else if (!socket.destroyed) http2.emit('connection', socket);
    };
    const pauseMs = guard.pauseOf(networkOf(socket.remoteAddress));
    if (pauseMs === 0) start();
    else
      setTimeout(
        guarded(start, (error) => cut(error, socket)),
        pauseMs,
      );
  };
  const port = createServer(tcp, guarded(connect, cut));
  const address = await openPort(port, options.host, options.port, '--grpc-port');
  return {
    port: address.port,
    setTls: (renewed) => secure?.setSecureContext(renewed),
    async close(graceMs) {
      closing.abort();
      const closed = new Promise<void>((resolve) => {
        port.close(() => resolve());
      });
      guard.drain();
      const grace = setTimeout(() => {
        guard.cut();
        // It would wait for what clients have not read yet.
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(grace);
      guard.close();
    },
  };
}

const HTTP2_OPTIONS = {
  maxSessionMemory: SESSION_MB,
  maxSessionInvalidFrames: 32,
  maxSessionRejectedStreams: LIMITS.requestsPerSocket,
  settings: {
    maxConcurrentStreams: LIMITS.requestsPerSocket,
    maxHeaderListSize: 16_384,
    enablePush: false,
  },
};

function servicesOf(
  context: ServerContext,
  { receiveMs, publicHealth }: GrpcOptions,
  closing: AbortSignal,
): Services {
  const { bodies, config } = context;
  const { budget } = bodies;
  const limitsOf = (client: string | null, call: CallStream) => {
    const payer = client ?? `address ${networkOf(call.remoteAddress)}`;
    const { maxBodyBytes } = config;
    return {
      maxBytes: client === null ? Math.min(OPEN_MESSAGE_BYTES, maxBodyBytes) : maxBodyBytes,
      receiveMs,
      charge: (numBytes: number) => budget.charge(payer, numBytes),
      release: (numBytes: number) => budget.release(payer, numBytes),
    };
  };
  const isOpen = (method: DescMethod) => publicHealth && HEALTH.has(method);
  const services = [GRPCInferenceService, Health, ServerReflection];
  return new Services(context, { isOpen, closing, limitsOf })
    .add(GRPCInferenceService, inferenceService(context))
    .add(Health, healthService(context, closing))
    .add(ServerReflection, reflectionService(services));
}

function allInUse({ limits }: ConnectionPlaces): ApiError {
  return unavailable(`All ${limits.maxConnections} connections are in use.`);
}

function isCall(headers: { readonly [name: string]: unknown }): boolean {
  const type = headers['content-type'];
  return (
    headers[':method'] === 'POST' &&
    typeof type === 'string' &&
    /^application\/grpc(\+proto)?($|;)/.test(type)
  );
}

/** Answers what is no call, as gRPC's servers do. */
function refuse(stream: ServerHttp2Stream): void {
  stream.on('error', () => {});
  stream.respond({ ':status': 415 }, { endStream: true });
  stream.close();
}

/** The client's address and port: TLS has a socket of its own for the same connection. */
function peerOf({
  remoteAddress,
  remotePort,
}: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}
