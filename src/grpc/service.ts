/** Puts handlers of typed messages on a grpc-js server. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { GenService, GenServiceMethods } from '@bufbuild/protobuf/codegenv2';
import { status } from '@grpc/grpc-js';
import type {
  Metadata,
  MethodDefinition,
  sendUnaryData,
  Server,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
  StatusObject,
  UntypedHandleCall,
} from '@grpc/grpc-js';
import { RequestRecord } from '../front/request-record.ts';
import type { ServerContext } from '../server/context.ts';
import { finishRequest } from '../server/operating/finish-request.ts';
import { toApiError } from '../server/to-api-error.ts';
import { headersOf, openCall, type RpcCall } from './call.ts';
import { decode } from './decode.ts';
import { toStatus } from './status.ts';
import { type Duplex, serveDuplex } from './duplex.ts';

/** One answer, or many; where clients stream, `answer` is asked for each message. */
type Handler<M extends GenServiceMethods[string]> = M['methodKind'] extends 'unary'
  ? (
      request: MessageShape<M['input']>,
      call: RpcCall,
    ) => MessageInitShape<M['output']> | Promise<MessageInitShape<M['output']>>
  : (
      request: MessageShape<M['input']>,
      call: RpcCall,
    ) => AsyncIterable<MessageInitShape<M['output']>>;

export type Handlers<M extends GenServiceMethods> = { readonly [K in keyof M]: Handler<M[K]> };

export interface ServiceOptions {
  /** Methods that need no key, by their names in the service; `*` is all. */
  readonly open: readonly string[];
  /** Aborts when the server closes: streams without work end. */
  readonly closing: AbortSignal;
}

/** Probes, of this service and of gRPC's own for health. */
const QUIET_METHODS: ReadonlySet<string> = new Set(['ServerLive', 'ServerReady', 'Check', 'Watch']);

type Untyped = (request: never, call: RpcCall) => unknown;

/** Requests go through as bytes, so that what is wrong with them is told in our words. */
const AS_IT_CAME = (bytes: Buffer): Buffer => bytes;

export function addService<M extends GenServiceMethods>(
  server: Server,
  context: ServerContext,
  service: GenService<M>,
  handlers: Handlers<M>,
  options: ServiceOptions,
): void {
  const definitions: Record<string, MethodDefinition<Buffer, Buffer>> = {};
  const implementations: Record<string, UntypedHandleCall> = {};
  for (const method of service.methods) {
    definitions[method.name] = definitionOf(method);
    // Each handler takes and gives the messages of its own method.
    const handler = handlers[method.localName as keyof M] as Untyped;
    implementations[method.name] = implement(method, handler, context, options);
  }
  server.addService(definitions, implementations);
}

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function definitionOf(method: DescMethod): MethodDefinition<Buffer, Buffer> {
  const { methodKind } = method;
  return {
    path: pathOf(method),
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: AS_IT_CAME,
    requestDeserialize: AS_IT_CAME,
    responseSerialize: AS_IT_CAME,
    responseDeserialize: AS_IT_CAME,
  };
}

function implement(
  method: DescMethod,
  handler: Untyped,
  context: ServerContext,
  { open, closing }: ServiceOptions,
): UntypedHandleCall {
  const { input, output, methodKind } = method;
  const isOpen = open.includes('*') || open.includes(method.name);
  const handle = (bytes: Buffer, call: RpcCall) => handler(decode(input, bytes) as never, call);
  if (methodKind === 'unary') {
    return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
      const finish = followed(context, method, call.metadata);
      const answer = async (): Promise<void> => {
        let bytes: Buffer | null = null;
        let failure: StatusObject | null = null;
        try {
          const opened = openCall(context, call, isOpen, finish.record);
          finish.client = opened.caller.client;
          bytes = encode(output, await handle(call.request, opened));
        } catch (error) {
          failure = toStatus(toApiError(error, context.logger));
        }
        callback(failure, bytes);
        finish.with(failure?.code ?? 0);
      };
      void answer();
    };
  }
  const isDuplex = methodKind === 'bidi_streaming';
  return (call: ServerDuplexStream<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>) => {
    const finish = followed(context, method, call.metadata);
    const stream: Duplex = {
      call,
      requests: isDuplex ? null : (call as ServerWritableStream<Buffer, Buffer>).request,
      closing,
      open: () => {
        const opened = openCall(context, call, isOpen, finish.record);
        finish.client = opened.caller.client;
        return opened;
      },
      answer: (bytes, opened) => handle(bytes, opened) as AsyncIterable<unknown>,
      encode: (message) => encode(output, message),
    };
    void serveDuplex(stream).then(
      () => finish.with(0),
      (error: unknown) => {
        const failure = toStatus(toApiError(error, context.logger));
        if (!call.cancelled) call.emit('error', failure);
        finish.with(failure.code);
      },
    );
  };
}

function encode(desc: DescMessage, message: unknown): Buffer {
  const bytes = toBinary(desc, create(desc, message as MessageInitShape<DescMessage>));
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Told at its end, as requests over HTTP are. */
function followed(context: ServerContext, method: DescMethod, metadata: Metadata) {
  const record = new RequestRecord();
  const path = pathOf(method);
  const headers = headersOf(metadata);
  const isQuiet = QUIET_METHODS.has(method.name);
  return {
    record,
    client: '',
    with(code: number): void {
      const { client } = this;
      context.metrics.countCall(path, status[code] ?? String(code));
      finishRequest(context, { record, client, method: path, code, headers, isQuiet });
    },
  };
}
