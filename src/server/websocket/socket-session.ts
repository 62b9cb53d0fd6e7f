/** One WebSocket: many requests at once, each known by the id its client chose. */
import type { WebSocket } from 'ws';
import type { Caller } from '../../front/caller.ts';
import { RequestRecord } from '../../front/request-record.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import { hasLeft, withDeadline } from '../../front/deadline.ts';
import { badRequest, tooManyOnSocket, type ApiError } from '../errors.ts';
import { jsonPieces } from '../http/json-pieces.ts';
import { type Sendable, toJson } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';
import type { Prepare } from '../answers/prepared-answer.ts';
import { runAnswer } from '../answers/run-answer.ts';
import { toApiError } from '../to-api-error.ts';
import { ArrivedBytes } from './arrived-bytes.ts';
import { FrameReceiver } from './frame-receiver.ts';
import { CLIENT_LEFT, type Peer } from '../operating/peer.ts';
import { MovableAnswer } from '../resume/movable-answer.ts';
import type { FrameTurns } from './frame-turns.ts';
import type { FrameWriter } from './frame-writer.ts';
import { parseFrame } from './frames.ts';
import { SocketSink } from './socket-sink.ts';

/** API that a socket's requests are for. */
interface ServedApi {
  readonly path: string;
  readonly prepare: Prepare;
}

const GOING_AWAY = 1001;

type FollowedCaller = Caller & { readonly record: RequestRecord };

/**
 * Every frame with a fresh `request_id` is answered by frames with that id, of which exactly the
 * last is `{"request_id", "type": "done"}`, also after an error frame. Then the id is free again. A
 * frame that is no request gets only an error frame, and the socket stays open unless there are too
 * many of them in a row.
 */
export class WebSocketSession {
  readonly #socket: WebSocket;
  readonly #writer: FrameWriter;
  readonly #receiver: FrameReceiver;
  readonly #context: ServerContext;
  readonly #peer: Peer;
  readonly #api: ServedApi;
  readonly #live = new Map<string, AbortController>();
  #isDraining = false;

  /** @param peer whose socket it is */
  constructor(
    socket: WebSocket,
    writer: FrameWriter,
    context: ServerContext,
    peer: Peer,
    turns: FrameTurns,
    api: ServedApi,
  ) {
    this.#socket = socket;
    this.#writer = writer;
    this.#context = context;
    this.#peer = peer;
    this.#api = api;
    this.#receiver = new FrameReceiver({
      socket,
      writer: this.#writer,
      turns,
      arrived: new ArrivedBytes(context.bodies.budget, peer.client),
      logger: context.logger,
      handle: (text) => this.#handle(text),
      tell: (error) => this.#sendError(null, error),
    });
    socket.on('close', () => this.#abortAll());
  }

  /** Accepts no new requests, and closes once the running ones are done. */
  drain(): void {
    this.#isDraining = true;
    this.#closeIfDrained();
  }

  /** @throws ApiError when the frame is no request. */
  #handle(text: string): void {
    const frame = parseFrame(text);
    this.#receiver.accept();
    const { requestId } = frame;
    const live = this.#live.get(requestId);
    if (frame.type === 'cancel') {
      // An id that has ended is no error: its last frame and the cancel crossed.
      live?.abort(new Error('cancelled by the client'));
      return;
    }
    if (live !== undefined) {
      const message = 'This `request_id` is at work already; choose another.';
      this.#sendError(requestId, badRequest(message, 'request_id', 'request_id_in_use'));
      return;
    }
    if (this.#live.size >= LIMITS.requestsPerSocket) {
      this.#refuse(requestId, tooManyOnSocket(LIMITS.requestsPerSocket, 'this socket'));
      return;
    }
    const end = this.#peer.begin();
    if (end === null) {
      this.#refuse(requestId, tooManyOnSocket(LIMITS.clientSocketRequests, 'your sockets'));
      return;
    }
    const controller = new AbortController();
    this.#live.set(requestId, controller);
    const signal = withDeadline(controller.signal, this.#context.config.requestTimeoutMs);
    const { client } = this.#peer;
    const record = new RequestRecord();
    void this.#serve(requestId, frame.body, { client, requestId, signal, record }).finally(end);
  }

  /** Never rejects. */
  async #serve(requestId: string, body: object, caller: FollowedCaller): Promise<void> {
    let status = 200;
    let errorCode: string | undefined;
    try {
      await this.#answer(requestId, body, caller);
    } catch (error) {
      const failure = hasLeft(caller.signal) ? null : this.#tell(requestId, error);
      status = failure?.status ?? CLIENT_LEFT;
      errorCode = failure?.code ?? undefined;
    }
    this.#live.delete(requestId);
    this.#sendDone(requestId);
    this.#closeIfDrained();
    this.#peer.finished({ record: caller.record, requestId, status, errorCode });
  }

  async #answer(requestId: string, json: object, asker: Caller): Promise<void> {
    const meter = await this.#peer.takeRequest();
    const caller = meter === undefined ? asker : { ...asker, meter };
    const { path, prepare } = this.#api;
    const resumption = this.#context.resumption ?? null;
    const movable = MovableAnswer.of(resumption, { path, json }, {}, caller);
    const asked = { json, caller, movable, prepare, streams: false };
    const sink = new SocketSink(
      (frame, more) => this.#send(requestId, frame, more),
      asker.signal,
      (answer) => this.#sendWhole(requestId, answer),
    );
    await runAnswer(this.#context, asked, sink);
  }

  /** As `#send`; other requests and sockets get their turn while it is written. */
  #sendWhole(requestId: string, answer: JsonObject): Promise<void> {
    return this.#writer.writePieces(jsonPieces({ ...answer, request_id: requestId }));
  }

  /** The answer, with its request's id and `more` as the last fields. */
  #send(requestId: string, answer: Sendable, more: object): Promise<void> | undefined {
    const fields = toJson(answer).slice(0, -1);
    const last = JSON.stringify({ request_id: requestId, ...more }).slice(1);
    return this.#writer.write(`${fields},${last}`);
  }

  #refuse(requestId: string, error: ApiError): void {
    this.#sendError(requestId, error);
    this.#sendDone(requestId);
  }

  #sendDone(requestId: string): void {
    this.#writer.post(JSON.stringify({ request_id: requestId, type: 'done' }));
  }

  #tell(requestId: string, error: unknown): ApiError {
    const failure = toApiError(error, this.#context.logger);
    this.#sendError(requestId, failure);
    return failure;
  }

  #sendError(requestId: string | null, error: ApiError): void {
    this.#writer.post(JSON.stringify({ ...error.toEnvelope(), request_id: requestId }));
  }

  #closeIfDrained(): void {
    if (this.#isDraining && this.#live.size === 0) {
      this.#socket.close(GOING_AWAY, 'the server is shutting down');
    }
  }

  #abortAll(): void {
    for (const controller of this.#live.values()) controller.abort(new Error('socket closed'));
  }
}
