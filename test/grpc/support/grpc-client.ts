/** gRPC servers over the fake engine, and clients that speak our own messages to them. */
import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { afterEach } from 'vitest';
import { type GrpcListener, listenGrpc } from '../../../src/grpc/listen.ts';
import { pathOf } from '../../../src/grpc/service.ts';
import { LIMITS } from '../../../src/limits.ts';
import { ConnectionPlaces } from '../../../src/server/http/connection-places.ts';
import type { TlsContext } from '../../../src/server/http/tls.ts';
import {
  startServer,
  type TestServer,
  type TestServerOptions,
} from '../../server/support/test-server.ts';

export interface GrpcTestServer extends TestServer {
  readonly grpc: GrpcListener;
  readonly client: Client;
}

export interface GrpcTestOptions extends TestServerOptions {
  readonly maxConnections?: number;
  readonly maxConnectionsPerAddress?: number;
  readonly publicHealth?: boolean;
  readonly receiveMs?: number;
  /** The certificate that clients trust, with `tls`. */
  readonly ca?: string;
}

/** Starts servers, and closes each with its client at the end of its test. */
export function useGrpcServers(): (options?: GrpcTestOptions) => Promise<GrpcTestServer> {
  const running: GrpcTestServer[] = [];
  afterEach(async () => {
    await Promise.all(
      running.splice(0).map(async (server) => {
        server.client.close();
        await server.grpc.close(0);
        await server.close();
      }),
    );
  });
  return async (options = {}) => {
    const server = await startServer(options);
    const tls: TlsContext | null = options.tls ?? null;
    const grpc = await listenGrpc(server.context, {
      host: '127.0.0.1',
      port: 0,
      tls,
      receiveMs: options.receiveMs ?? LIMITS.receiveMs,
      publicHealth: options.publicHealth ?? false,
      places: new ConnectionPlaces({
        maxConnections: options.maxConnections ?? 64,
        maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? null,
      }),
    });
    const started = { ...server, grpc, client: newClient(grpc.port, options.ca) };
    running.push(started);
    return started;
  };
}

export function newClient(port: number, ca?: string): Client {
  const secure =
    ca === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca));
  return new Client(`localhost:${port}`, secure, { 'grpc.enable_retries': 0 });
}

const asItIs = (bytes: Buffer): Buffer => bytes;

export interface CallSettings extends CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** One message for one. @throws ServiceError */
export function unary<M extends DescMethod>(
  client: Client,
  method: M,
  request: MessageInitShape<M['input']>,
  settings: CallSettings = {},
): Promise<MessageShape<M['output']>> {
  return rawUnary(client, pathOf(method), bytesOf(method, request), settings).then(
    (bytes) => fromBinary(method.output, bytes) as MessageShape<M['output']>,
  );
}

export function rawUnary(
  client: Client,
  path: string,
  request: Buffer,
  { metadata = {}, signal, ...options }: CallSettings = {},
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      path,
      asItIs,
      asItIs,
      request,
      metadataOf(metadata),
      options,
      (error, bytes) => {
        if (error) reject(error);
        else resolve(bytes ?? Buffer.alloc(0));
      },
    );
    signal?.addEventListener('abort', () => call.cancel(), { once: true });
  });
}

/** Error of a failed call. @throws if it did not fail */
export async function statusOf(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error as ServiceError;
    throw error;
  }
  throw new Error('the call did not fail');
}

export interface Stream<M extends DescMethod> {
  readonly call: ClientDuplexStream<Buffer, Buffer> | ClientReadableStream<Buffer>;
  send(request: MessageInitShape<M['input']>): void;
  end(): void;
  /** All messages that come until the call ends. @throws ServiceError */
  all(): Promise<MessageShape<M['output']>[]>;
  next(): Promise<MessageShape<M['output']>>;
}

export function duplex<M extends DescMethod>(
  client: Client,
  method: M,
  { metadata = {}, ...options }: Omit<CallSettings, 'signal'> = {},
): Stream<M> {
  const call = client.makeBidiStreamRequest(
    pathOf(method),
    asItIs,
    asItIs,
    metadataOf(metadata),
    options,
  );
  return {
    ...reader(call, method),
    send: (request) => void call.write(bytesOf(method, request)),
    end: () => call.end(),
  };
}

export function serverStream<M extends DescMethod>(
  client: Client,
  method: M,
  request: MessageInitShape<M['input']>,
): Stream<M> {
  const call = client.makeServerStreamRequest(
    pathOf(method),
    asItIs,
    asItIs,
    bytesOf(method, request),
  );
  return { ...reader(call, method), send: () => {}, end: () => {} };
}

function reader<M extends DescMethod>(
  call: Stream<M>['call'],
  method: M,
): Pick<Stream<M>, 'call' | 'all' | 'next'> {
  const parse = (bytes: unknown) =>
    fromBinary(method.output, bytes as Buffer) as MessageShape<M['output']>;
  const iterator = call[Symbol.asyncIterator]();
  // A call that fails while nobody reads is told to whoever reads next.
  call.on('error', () => {});
  const next = async () => {
    const result = await iterator.next();
    if (result.done) throw new Error('the call has ended');
    return parse(result.value);
  };
  return {
    call,
    next,
    async all() {
      const messages: MessageShape<M['output']>[] = [];
      for (;;) {
        const result = await iterator.next();
        if (result.done) return messages;
        messages.push(parse(result.value));
      }
    },
  };
}

function bytesOf<M extends DescMethod>(method: M, request: MessageInitShape<M['input']>): Buffer {
  return Buffer.from(toBinary(method.input, create(method.input, request)));
}

function metadataOf(values: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return metadata;
}
