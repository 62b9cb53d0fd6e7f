/** /v1/responses over WebSocket: `response.create` events in, the events of a stream out. */
import type { WebSocket } from 'ws';
import { LIMITS } from '../../limits.ts';
import { RequestRecord } from '../../front/request-record.ts';
import type { Prepare } from '../answers/prepared-answer.ts';
import { runAnswer } from '../answers/run-answer.ts';
import type { ServerContext } from '../context.ts';
import { withDeadline } from '../../front/deadline.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { parseScanned } from '../http/json-text.ts';
import { toJson } from '../http/written-json.ts';
import { toApiError } from '../to-api-error.ts';
import { ArrivedBytes } from '../websocket/arrived-bytes.ts';
import { FrameReceiver } from '../websocket/frame-receiver.ts';
import { CLIENT_LEFT, type Peer } from '../operating/peer.ts';
import type { FrameTurns } from '../websocket/frame-turns.ts';
import type { FrameWriter } from '../websocket/frame-writer.ts';
import { MovableAnswer } from '../resume/movable-answer.ts';
import { type SendFrame, SocketSink } from '../websocket/socket-sink.ts';
import { RESPONSES_PATH } from './api.ts';
import type { FindTurn } from './asked-conversation.ts';
import { PreparedResponse } from './create.ts';
import type { ResponsePartition } from './partition.ts';
import type { Turn } from './turn.ts';

const GOING_AWAY = 1001;

/**
 * One response at a time, in the order of their events. The last one can be gone on with by its id
 * though it was not stored. What can't be served is answered by an `error` event, and the socket
 * stays unless too many frames in a row are no events.
 */
export class ResponsesSession {
  readonly #socket: WebSocket;
  readonly #context: ServerContext;
  readonly #peer: Peer;
  readonly #writer: FrameWriter;
  readonly #receiver: FrameReceiver;
  readonly #arrived: ArrivedBytes;
  readonly #closed = new AbortController();
  /** Events that wait for the response at work. */
  readonly #pending: string[] = [];
  #pendingCharacters = 0;
  #isBusy = false;
  #isDraining = false;
  readonly #partition: ResponsePartition;
  /** Id of the response that can be continued though it was not stored. */
  #lastId: string | null = null;

  /** @param peer whose socket it is */
  constructor(
    socket: WebSocket,
    writer: FrameWriter,
    context: ServerContext,
    peer: Peer,
    turns: FrameTurns,
  ) {
    this.#socket = socket;
    this.#writer = writer;
    this.#context = context;
    this.#peer = peer;
    this.#partition = context.responses.of(peer.client);
    this.#arrived = new ArrivedBytes(context.bodies.budget, peer.client);
    this.#receiver = new FrameReceiver({
      socket,
      writer: this.#writer,
      turns,
      arrived: this.#arrived,
      logger: context.logger,
      handle: (text) => this.#submit(text),
      tell: (error) => this.#tell(error),
    });
    socket.on('close', () => {
      this.#closed.abort(new Error('socket closed'));
      this.#partition.keepLast(this, null);
    });
  }

  /** Takes no new events, and closes once the responses at work are done. */
  drain(): void {
    this.#isDraining = true;
    this.#closeIfDrained();
  }

  /** @throws ApiError when too much waits already. */
  #submit(text: string): void {
    const { maxBodyBytes } = this.#context.config;
    const isFirst = this.#pending.length === 0;
    if (this.#pending.length >= LIMITS.pendingEvents) {
      throw tooManyPending(`More than ${LIMITS.pendingEvents} events`);
    }
    if (!isFirst && this.#pendingCharacters + text.length > maxBodyBytes) {
      throw tooManyPending(`More than ${maxBodyBytes} bytes of events`);
    }
    this.#arrived.add(text.length);
    this.#pending.push(text);
    this.#pendingCharacters += text.length;
    void this.#work();
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let text = this.#pending.shift(); text !== undefined; text = this.#pending.shift()) {
      this.#pendingCharacters -= text.length;
      this.#arrived.remove(text.length);
      const event = this.#parse(text);
      if (event === null) continue;
      const record = new RequestRecord();
      let status = 200;
      let errorCode: string | undefined;
      try {
        await this.#answer(event, record);
      } catch (error) {
        if (this.#closed.signal.aborted) {
          status = CLIENT_LEFT;
        } else {
          const failure = toApiError(error, this.#context.logger);
          ({ status } = failure);
          errorCode = failure.code ?? undefined;
          this.#tell(failure);
        }
      }
      this.#peer.finished({ record, status, errorCode });
    }
    this.#isBusy = false;
    this.#closeIfDrained();
  }

  /** @returns null if the text is not a valid event; the client receives the error */
  #parse(text: string): object | null {
    try {
      const event = requireCreateEvent(parseScanned(text));
      this.#receiver.accept();
      return event;
    } catch (error) {
      this.#receiver.reject(error);
      return null;
    }
  }

  async #answer(create: object, record: RequestRecord): Promise<void> {
    const { client } = this.#peer;
    const meter = await this.#peer.takeRequest();
    const { requestTimeoutMs } = this.#context.config;
    const signal = withDeadline(this.#closed.signal, requestTimeoutMs);
    const caller = { client, signal, record, ...(meter === undefined ? {} : { meter }) };
    // Another replica is asked over HTTP.
    const json = { ...create, stream: true };
    const generates = !('generate' in create && create.generate === false);
    const request = { path: RESPONSES_PATH, json };
    const movable = generates
      ? MovableAnswer.of(this.#context.resumption ?? null, request, {}, caller)
      : null;
    const run = new SocketResponse((id) => this.#findTurn(id), generates);
    const asked = { json, caller, movable, prepare: run.prepare, streams: true };
    await runAnswer(this.#context, asked, new SocketSink(this.#send, signal));
    const { id, turn } = run;
    if (id === null || turn === null || this.#closed.signal.aborted) return;
    this.#lastId = id;
    this.#partition.keepLast(this, turn);
  }

  readonly #send: SendFrame = (event, more) => {
    const fields = toJson(event);
    const further = JSON.stringify(more).slice(1);
    return this.#writer.write(further === '}' ? fields : `${fields.slice(0, -1)},${further}`);
  };

  #findTurn(id: string): Turn | undefined {
    const last = this.#lastId === id ? this.#partition.lastOf(this) : undefined;
    return last ?? this.#partition.turnOf(id);
  }

  #tell(error: ApiError): void {
    const event = { type: 'error', status: error.status, ...error.toEnvelope() };
    this.#writer.post(JSON.stringify(event));
  }

  #closeIfDrained(): void {
    if (!this.#isDraining || this.#isBusy) return;
    this.#socket.close(GOING_AWAY, 'the server is shutting down');
  }
}

/** One response of a socket: its events, and the turn that can be gone on with. */
class SocketResponse {
  readonly #findTurn: FindTurn;
  readonly #generates: boolean;
  #prepared: PreparedResponse | null = null;

  /** @param generates false only keeps its input, as a conversation to go on with */
  constructor(findTurn: FindTurn, generates: boolean) {
    this.#findTurn = findTurn;
    this.#generates = generates;
  }

  get id(): string | null {
    return this.#prepared?.id ?? null;
  }

  get turn(): Turn | null {
    return this.#prepared?.turn ?? null;
  }

  readonly prepare: Prepare = async (served, json, caller, server) => {
    const prepared = await PreparedResponse.prepare(served, json, this.#findTurn, caller, server);
    this.#prepared = prepared;
    return {
      stream: true,
      chunks: async (starter) => {
        return this.#generates ? prepared.start(starter) : only(prepared.skip());
      },
      whole: async () => prepared.response,
    };
  };
}

async function* only<T>(value: T): AsyncGenerator<T, void> {
  yield value;
}

/** @returns the event's fields, which are a response's body. */
function requireCreateEvent(json: unknown): object {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw badRequest('An event must be a JSON object.', null, 'invalid_json');
  }
  if ('type' in json && json.type === 'response.create') return json;
  throw badRequest('`type`: expected `response.create`.', 'type', 'invalid_value');
}

function tooManyPending(what: string): ApiError {
  const message = `${what} would wait on this connection.`;
  return badRequest(message, null, 'too_many_pending_events');
}
