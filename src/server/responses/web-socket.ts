/** /v1/responses over WebSocket: `response.create` events in, the events of a stream out. */
import type { RawData, WebSocket } from 'ws';
import type { ServerContext } from '../context.ts';
import { withDeadline } from '../deadline.ts';
import { badRequest } from '../errors.ts';
import { parseJson } from '../request-body.ts';
import { requireServing } from '../start-generation.ts';
import { toApiError } from '../to-api-error.ts';
import { FrameWriter } from '../websocket/frame-writer.ts';
import { textOf } from '../websocket/frames.ts';
import { PreparedResponse } from './create.ts';
import type { ResponsePartition } from './partition.ts';
import type { Turn } from './turn.ts';

const GOING_AWAY = 1001;

/** Events that may wait for the response at work; a client needs the last one's id to go on anyway. */
const MAX_PENDING = 16;

/**
 * One response at a time, in the order of their events. The last one can be gone on with by its id
 * though it was not stored. What can't be served is answered by an `error` event, and the socket
 * stays.
 */
export class ResponsesSession {
  readonly #socket: WebSocket;
  readonly #context: ServerContext;
  readonly #client: string;
  readonly #writer: FrameWriter;
  readonly #closed = new AbortController();
  readonly #pending: string[] = [];
  #isBusy = false;
  #isDraining = false;
  readonly #partition: ResponsePartition;
  /** Of the response that can be gone on with though it was not stored. */
  #lastId: string | null = null;

  /** @param client whose socket it is */
  constructor(socket: WebSocket, context: ServerContext, client: string) {
    this.#socket = socket;
    this.#context = context;
    this.#client = client;
    this.#partition = context.responses.of(client);
    this.#writer = new FrameWriter(socket);
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('close', () => {
      this.#closed.abort(new Error('socket closed'));
      this.#partition.keepLast(this, null);
    });
    // `close` follows; without a listener a broken frame would end the process.
    socket.on('error', (error) => context.logger.debug({ err: error }, 'websocket error'));
  }

  /** Takes no new events, and closes once the responses at work are done. */
  drain(): void {
    this.#isDraining = true;
    this.#closeIfDrained();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (isBinary) {
      this.#sendError(badRequest('Events must be text, not binary.', null, 'invalid_json'));
    } else if (this.#pending.length >= MAX_PENDING) {
      const message = `More than ${MAX_PENDING} events wait on this connection already.`;
      this.#sendError(badRequest(message, null, 'too_many_pending_events'));
    } else {
      this.#pending.push(textOf(data));
      void this.#work();
    }
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let text = this.#pending.shift(); text !== undefined; text = this.#pending.shift()) {
      try {
        await this.#answer(parseJson(text));
      } catch (error) {
        if (!this.#closed.signal.aborted) this.#sendError(error);
      }
    }
    this.#isBusy = false;
    this.#closeIfDrained();
  }

  async #answer(json: unknown): Promise<void> {
    requireServing(this.#context, this.#client);
    const { requestTimeoutMs } = this.#context.config;
    const signal = withDeadline(this.#closed.signal, requestTimeoutMs);
    const caller = { client: this.#client, signal };
    const prepared = await PreparedResponse.prepare(
      this.#context,
      requireCreateEvent(json),
      (id) => this.#findTurn(id),
      caller,
    );
    if (prepared.body['generate'] === false) {
      for (const event of prepared.skip()) await this.#writer.write(event);
    } else {
      const batches = await prepared.start(caller);
      for await (const events of batches) {
        for (const event of events) await this.#writer.write(event);
      }
    }
    const { id, turn } = prepared;
    if (turn === null || this.#closed.signal.aborted) return;
    this.#lastId = id;
    this.#partition.keepLast(this, turn);
  }

  #findTurn(id: string): Turn | undefined {
    const last = this.#lastId === id ? this.#partition.lastOf(this) : undefined;
    return last ?? this.#partition.turnOf(id);
  }

  #sendError(error: unknown): void {
    const apiError = toApiError(error, this.#context.logger);
    this.#writer.post({ type: 'error', status: apiError.status, ...apiError.toEnvelope() });
  }

  #closeIfDrained(): void {
    if (!this.#isDraining || this.#isBusy) return;
    this.#socket.close(GOING_AWAY, 'the server is shutting down');
  }
}

/** @returns the event's fields, which are a response's body. */
function requireCreateEvent(json: unknown): object {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw badRequest('An event must be a JSON object.', null, 'invalid_json');
  }
  if ('type' in json && json.type === 'response.create') return json;
  throw badRequest('`type`: expected `response.create`.', 'type', 'invalid_value');
}
