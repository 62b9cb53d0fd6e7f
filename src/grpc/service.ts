/** Finds the method of a call, and answers it: one message for one, or streams of them. */
import { create, type DescMessage, type DescMethod, toBinary } from '@bufbuild/protobuf';
import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { GenService, GenServiceMethods } from '@bufbuild/protobuf/codegenv2';
import { RequestRecord } from '../front/request-record.ts';
import type { ServerContext } from '../server/context.ts';
import { ApiError, badRequest } from '../server/errors.ts';
import { finishRequest } from '../server/operating/finish-request.ts';
import { toApiError } from '../server/to-api-error.ts';
import { openCall, type RpcCall } from './call.ts';
import type { CallStream } from './call-stream.ts';
import { decode } from './decode.ts';
import { answerStream } from './duplex.ts';
import type { ArrivalLimits } from './incoming-messages.ts';
import { type CallStatus, nameOf, OK, status, toStatus } from './status.ts';

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
  /** Whether a method needs no key. */
  isOpen(method: DescMethod): boolean;
  /** Aborts when the server closes: streams without work end. */
  readonly closing: AbortSignal;
  /** @param client null of a call that needs no key */
  limitsOf(client: string | null, call: CallStream): Omit<ArrivalLimits, 'isDue'>;
}

/** Probes, of this service and of gRPC's own for health. */
const QUIET_METHODS: ReadonlySet<string> = new Set(['ServerLive', 'ServerReady', 'Check', 'Watch']);

const GONE: CallStatus = { code: status.CANCELLED, details: '' };

type Untyped = (request: never, call: RpcCall) => unknown;

interface Route {
  readonly method: DescMethod;
  readonly handler: Untyped;
}

export class Services {
  readonly #routes = new Map<string, Route>();
  readonly #context: ServerContext;
  readonly #options: ServiceOptions;

  constructor(context: ServerContext, options: ServiceOptions) {
    this.#context = context;
    this.#options = options;
  }

  add<M extends GenServiceMethods>(service: GenService<M>, handlers: Handlers<M>): this {
    for (const method of service.methods) {
      // Each handler takes and gives the messages of its own method.
      const handler = handlers[method.localName as keyof M] as Untyped;
      this.#routes.set(pathOf(method), { method, handler });
    }
    return this;
  }

  /** Answers a call; what goes wrong is its status, and concerns no other. */
  serve(call: CallStream): void {
    const path = call.headers[':path'];
    const route = this.#routes.get(typeof path === 'string' ? path : '');
    if (route === undefined) {
      call.end(toStatus(new ApiError(501, 'NotFoundError', 'There is no such method.')));
      return;
    }
    const { method } = route;
    const finish = followed(this.#context, method, call);
    const settle = (callStatus: CallStatus): void => {
      call.end(callStatus);
      finish.with(callStatus);
    };
    const fail = (error: unknown): void => {
      const isGone = call.gone.aborted;
      settle(isGone ? GONE : toStatus(toApiError(error, this.#context.logger)));
    };
    try {
      const isOpen = this.#options.isOpen(method);
      const opened = openCall(this.#context, call, isOpen, finish.record);
      finish.client = opened.caller.client;
      const isDue = method.methodKind !== 'bidi_streaming';
      const limits = {
        ...this.#options.limitsOf(isOpen ? null : opened.caller.client, call),
        isDue,
      };
      this.#answer(route, call, opened, limits)
        .then(() => settle(OK), fail)
        .catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #answer(
    { method, handler }: Route,
    call: CallStream,
    opened: RpcCall,
    limits: ArrivalLimits,
  ): Promise<void> {
    const { unread } = this.#context;
    call.hold(unread, opened.caller.client);
    const handle = (bytes: Buffer) => handler(decode(method.input, bytes) as never, opened);
    const write = (message: unknown) => {
      const encoded = encode(method.output, message);
      unread.makeRoom(opened.caller.client, encoded.length);
      return call.write(encoded);
    };
    if (method.methodKind === 'unary') {
      return onlyMessage(call, limits, async (bytes) => {
        write(await handle(bytes));
      });
    }
    const answer = async (bytes: Buffer): Promise<void> => {
      const { signal } = opened.caller;
      for await (const message of handle(bytes) as AsyncIterable<unknown>) {
        if (signal.aborted) break;
        // No further one is made before the client has taken enough of those before.
        if (!write(message)) await call.drained(signal);
      }
    };
    if (method.methodKind === 'server_streaming') return onlyMessage(call, limits, answer);
    const { closing } = this.#options;
    return answerStream({ call, limits, opened, closing, answer });
  }
}

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** @returns when `answer` is done. @throws ApiError 400 for a call without a message */
function onlyMessage(
  call: CallStream,
  limits: ArrivalLimits,
  answer: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    call.receive(limits, {
      message(bytes) {
        if (hasBegun) {
          reject(badRequest('The call has more than one message.'));
          return;
        }
        hasBegun = true;
        answer(bytes).then(resolve, reject);
      },
      end() {
        if (!hasBegun) reject(badRequest('The call has no message.'));
      },
      fail: reject,
    });
    const leave = (): void => {
      // An answer that has begun finds out by its signal.
      if (!hasBegun) reject(call.gone.reason as Error);
    };
    call.gone.addEventListener('abort', leave, { once: true });
  });
}

function encode(desc: DescMessage, message: unknown): Uint8Array {
  return toBinary(desc, create(desc, message as MessageInitShape<DescMessage>));
}

/** Logs and counts a call at its end, as requests over HTTP are. */
function followed(context: ServerContext, method: DescMethod, { headers }: CallStream) {
  const record = new RequestRecord();
  const path = pathOf(method);
  const isQuiet = QUIET_METHODS.has(method.name);
  return {
    record,
    client: '',
    with({ code }: CallStatus): void {
      const { client } = this;
      context.metrics.countCall(path, nameOf(code));
      finishRequest(context, { record, client, method: path, code, headers, isQuiet });
    },
  };
}
