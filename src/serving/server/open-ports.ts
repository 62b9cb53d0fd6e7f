/** The ports of a server: HTTP, gRPC, and metrics where these have one of their own. */
import type { IncomingMessage } from 'node:http';
import type { GrpcListener, GrpcOptions } from '../../grpc/listen.ts';
import { createApp } from '../../server/app.ts';
import type { ConnectionPlaces } from '../../server/http/connection-places.ts';
import type { ServerContext } from '../../server/context.ts';
import { type Listener, listen } from '../../server/http/listen.ts';
import type { TlsContext } from '../../server/http/tls.ts';
import { hostOfPorts } from '../../net/unix-address.ts';
import { isProbe } from '../../server/operating/health.ts';
import { createMetricsApp } from '../../server/metrics-app.ts';
import type { WebSocketHub } from '../../server/web-socket-hub.ts';
import { Closers } from '../closers.ts';
import type { Options } from '../../settings/options.ts';

export interface Ports {
  readonly url: string;
  /** Null without gRPC. */
  readonly grpcAddress: string | null;
  /** Address of /metrics; null where the first port has it. */
  readonly metricsUrl: string | null;
  setTls(tls: TlsContext): void;
  /** Closes connections of HTTP and WebSockets as soon as nothing is at work on them. */
  drain(): void;
  /** Stops accepting connections, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

type PortOptions = Options<
  'host' | 'port' | 'rootPath' | 'grpcPort' | 'grpcPublicHealth' | 'metricsPort' | 'receiveTimeout'
> & { readonly places: ConnectionPlaces };

/** @throws UserError */
export async function openPorts(
  context: ServerContext,
  webSockets: WebSocketHub,
  tls: TlsContext | null,
  options: PortOptions,
): Promise<Ports> {
  const { host, port, grpcPort, metricsPort, places } = options;
  const portHost = hostOfPorts(host);
  const connections = { places, receiveMs: options.receiveTimeout * 1000 };
  const hasOwnMetrics = metricsPort !== undefined;
  const app = createApp(context, { hasMetrics: !hasOwnMetrics });
  const mayUseReserve = (request: IncomingMessage): boolean =>
    isProbe(request) || context.keys.isAdmin(request.headers);
  const http = await listen(app, {
    host,
    port,
    rootPath: options.rootPath,
    webSockets,
    tls,
    connections: { ...connections, mayUseReserve, onStalled: () => tellStalled(context) },
    isUrgent: isProbe,
  });
  const closers = new Closers();
  closers.add(() => http.close(0));
  try {
    const grpc =
      grpcPort === undefined
        ? null
        : await openGrpc(context, {
            host: portHost,
            port: grpcPort,
            tls,
            publicHealth: options.grpcPublicHealth,
            ...connections,
          });
    closers.add(() => grpc?.close(0));
    const metrics: Listener | null = hasOwnMetrics
      ? await listen(createMetricsApp(context), {
          host: portHost,
          port: metricsPort,
          flag: '--metrics-port',
          connections,
        })
      : null;
    return portsOf({ http, grpc, metrics }, portHost);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

interface Listeners {
  readonly http: Listener;
  readonly grpc: GrpcListener | null;
  readonly metrics: Listener | null;
}

function portsOf({ http, grpc, metrics }: Listeners, host: string): Ports {
  return {
    url: http.url,
    grpcAddress: grpc && `${host}:${grpc.port}`,
    metricsUrl: metrics && `${metrics.url}/metrics`,
    setTls(renewed) {
      http.setTls(renewed);
      grpc?.setTls(renewed);
    },
    drain: () => http.drain(),
    async close(graceMs) {
      await Promise.all([http.close(graceMs), grpc?.close(graceMs)]);
      // Probes may ask until the end.
      await metrics?.close(0);
    },
  };
}

/** Its libraries are a third of the server's code: whoever has no gRPC does not wait for them. */
async function openGrpc(context: ServerContext, options: GrpcOptions): Promise<GrpcListener> {
  const { listenGrpc } = await import('../../grpc/listen.ts');
  return listenGrpc(context, options);
}

function tellStalled({ metrics, logger }: ServerContext): void {
  metrics.countCut('stalled');
  logger.warn('a connection was cut: its client read nothing');
}
