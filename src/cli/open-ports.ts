/** The ports of a server: HTTP, gRPC, and metrics where these have one of their own. */
import type { GrpcListener, GrpcOptions } from '../grpc/listen.ts';
import { createApp } from '../server/app.ts';
import type { ServerContext } from '../server/context.ts';
import { type Listener, listen } from '../server/http/listen.ts';
import type { TlsContext } from '../server/http/tls.ts';
import { createMetricsApp } from '../server/metrics-app.ts';
import type { WebSocketHub } from '../server/websocket/hub.ts';
import type { Options } from './options.ts';

export interface Ports {
  readonly url: string;
  /** Null without gRPC. */
  readonly grpcAddress: string | null;
  /** Of /metrics; null where the first port has it. */
  readonly metricsUrl: string | null;
  setTls(tls: TlsContext): void;
  /** Stops accepting connections, and cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

type PortOptions = Options<
  | 'host'
  | 'port'
  | 'grpcPort'
  | 'metricsPort'
  | 'maxConnections'
  | 'maxConnectionsPerAddress'
  | 'receiveTimeout'
>;

/** @throws ListenError */
export async function openPorts(
  context: ServerContext,
  webSockets: WebSocketHub,
  tls: TlsContext | null,
  options: PortOptions,
): Promise<Ports> {
  const { host, port, grpcPort, metricsPort, maxConnections } = options;
  const connections = {
    maxConnections,
    maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? null,
    receiveMs: options.receiveTimeout * 1000,
  };
  const hasOwnMetrics = metricsPort !== undefined;
  const app = createApp(context, { hasMetrics: !hasOwnMetrics });
  const http = await listen(app, { host, port, webSockets, tls, connections });
  const grpc =
    grpcPort === undefined
      ? null
      : await openGrpc(context, { host, port: grpcPort, tls, ...connections });
  const metrics: Listener | null = hasOwnMetrics
    ? await listen(createMetricsApp(context), { host, port: metricsPort, flag: '--metrics-port' })
    : null;
  return {
    url: http.url,
    grpcAddress: grpc && `${host}:${grpc.port}`,
    metricsUrl: metrics && `${metrics.url}/metrics`,
    setTls(renewed) {
      http.setTls(renewed);
      grpc?.setTls(renewed);
    },
    async close(graceMs) {
      await Promise.all([http.close(graceMs), grpc?.close(graceMs)]);
      // Probes may ask until the end.
      await metrics?.close(0);
    },
  };
}

/** Its libraries are a third of the server's code: whoever has no gRPC does not wait for them. */
async function openGrpc(context: ServerContext, options: GrpcOptions): Promise<GrpcListener> {
  const { listenGrpc } = await import('../grpc/listen.ts');
  return listenGrpc(context, options);
}
