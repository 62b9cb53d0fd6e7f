/** Opens the port for gRPC, and closes it without dropping what is at work. */
import { setMaxListeners } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { LIMITS } from '../limits.ts';
import type { ServerContext } from '../server/context.ts';
import { openPort } from '../server/http/listen.ts';
import { networkOf } from '../server/http/network-of.ts';
import type { TlsContext } from '../server/http/tls.ts';
import { arrivalGuard } from './arrival-guard.ts';
import { healthService } from './health-service.ts';
import { inferenceService, OPEN_METHODS } from './inference-service.ts';
import { Health } from './proto/health_pb.ts';
import { GRPCInferenceService } from './proto/inference_pb.ts';
import { ServerReflection } from './proto/reflection_pb.ts';
import { reflectionService } from './reflection-service.ts';
import { addService, pathOf } from './service.ts';

/** After this much silence the peer is asked whether it is still there. */
const PROBE_MS = 30_000;

/** Milliseconds that a connection without calls stays: longer than load balancers keep theirs. */
const IDLE_MS = 600_000;

export interface GrpcOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Null for plain text. */
  readonly tls: TlsContext | null;
  /** Milliseconds that the message of a call may take to arrive. */
  readonly receiveMs: number;
  readonly maxConnections: number;
  /** From one address, or one /64 network of IPv6; null is no limit. */
  readonly maxConnectionsPerAddress: number | null;
}

export interface GrpcListener {
  readonly port: number;
  /** For connections that come from now on. */
  setTls(tls: TlsContext): void;
  /** Calls at work may go on for `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws ListenError in one line, such as for a port that is taken */
export async function listenGrpc(
  context: ServerContext,
  options: GrpcOptions,
): Promise<GrpcListener> {
  const closing = new AbortController();
  // Every stream listens; Node would take more than ten for a leak.
  setMaxListeners(0, closing.signal);
  const server = new Server({
    'grpc.max_receive_message_length': context.config.maxBodyBytes,
    'grpc.max_concurrent_streams': LIMITS.requestsPerSocket,
    'grpc.max_connection_idle_ms': IDLE_MS,
    'grpc.keepalive_time_ms': PROBE_MS,
    'grpc.enable_channelz': 0,
    interceptors: [arrivalGuard(context, options.receiveMs, OPEN_PATHS)],
  });
  addServices(server, context, closing.signal);
  let injector = server.createConnectionInjector(credentialsOf(options.tls));
  const sockets = new Set<Socket>();
  const admits = connectionCounter(options);
  const port = createServer({ keepAlive: true, keepAliveInitialDelay: PROBE_MS }, (socket) => {
    // Without a listener it would end the process; its session is told by its end.
    socket.on('error', () => socket.destroy());
    if (!admits(socket)) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  const address = await openPort(port, options.host, options.port, '--grpc-port');
  return {
    port: address.port,
    setTls(tls) {
      injector = server.createConnectionInjector(credentialsOf(tls));
    },
    async close(graceMs) {
      closing.abort();
      port.close();
      const done = new Promise<void>((resolve) => {
        server.tryShutdown(() => resolve());
      });
      const cut = setTimeout(() => {
        server.forceShutdown();
        // It would wait for what clients have not read yet.
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await done;
      clearTimeout(cut);
    },
  };
}

/** What needs no key. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  ...OPEN_METHODS.map((name) => `/${GRPCInferenceService.typeName}/${name}`),
  ...[Health, ServerReflection].flatMap(({ methods }) => methods.map(pathOf)),
]);

function addServices(server: Server, context: ServerContext, closing: AbortSignal): void {
  const openToAll = { open: ['*'], closing };
  const services = [GRPCInferenceService, Health, ServerReflection];
  addService(server, context, GRPCInferenceService, inferenceService(context), {
    open: OPEN_METHODS,
    closing,
  });
  addService(server, context, Health, healthService(context, closing), openToAll);
  addService(server, context, ServerReflection, reflectionService(services), openToAll);
}

function credentialsOf(tls: TlsContext | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  const { cert, key } = tls;
  return ServerCredentials.createSsl(null, [
    { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) },
  ]);
}

/** Whether there is room for one more, which then counts until it is closed. */
function connectionCounter({
  maxConnections,
  maxConnectionsPerAddress,
}: GrpcOptions): (socket: Socket) => boolean {
  const open = new Map<string, number>();
  let total = 0;
  return (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const ofNetwork = open.get(network) ?? 0;
    if (total >= maxConnections || ofNetwork >= (maxConnectionsPerAddress ?? Infinity)) {
      return false;
    }
    total++;
    open.set(network, ofNetwork + 1);
    socket.once('close', () => {
      total--;
      const left = (open.get(network) ?? 1) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
    return true;
  };
}
