/** One WebSocket: many requests at once, each known by the id its client chose. */
import type { RawData, WebSocket } from 'ws';
import type { ServerContext } from '../context.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { gather, type JsonObject } from '../openai/answer.ts';
import type { Prepare } from '../openai/routes.ts';
import { requireServing, startGeneration } from '../start-generation.ts';
import { toApiError } from '../to-api-error.ts';
import { parseFrame, type ClientFrame } from './frames.ts';

/**
 * Bytes waiting in a socket from which on each of its requests sends one frame at a time. The
 * tokens of a paused request gather in the front, so that it goes on with fewer, larger frames.
 */
const HIGH_WATER_BYTES = 1024 * 1024;

const GOING_AWAY = 1001;

/**
 * Every frame with a fresh `request_id` is answered by frames with that id, of which exactly the
 * last is `{"request_id", "type": "done"}`, after an error frame too: then the id is free again.
 * A frame that can't be taken as a request gets an error frame alone, and the socket stays.
 */
export class WebSocketSession {
  readonly #socket: WebSocket;
  readonly #context: ServerContext;
  readonly #prepare: Prepare;
  readonly #live = new Map<string, AbortController>();
  #isDraining = false;

  constructor(socket: WebSocket, context: ServerContext, prepare: Prepare) {
    this.#socket = socket;
    this.#context = context;
    this.#prepare = prepare;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('close', () => this.#abortAll());
    // `close` follows; without a listener a broken frame would end the process.
    socket.on('error', (error) => context.logger.debug({ err: error }, 'websocket error'));
  }

  /** Takes no new requests, and closes once those at work are done. */
  drain(): void {
    this.#isDraining = true;
    this.#closeIfDrained();
  }

  #receive(data: RawData, isBinary: boolean): void {
    let frame: ClientFrame;
    try {
      if (isBinary) throw badRequest('Frames must be text, not binary.', null, 'invalid_json');
      frame = parseFrame(textOf(data));
    } catch (error) {
      this.#sendError(null, toApiError(error, this.#context.logger));
      return;
    }
    const { requestId } = frame;
    const live = this.#live.get(requestId);
    if (frame.type === 'cancel') {
      // An id that is not at work any more is no fault: its last frame and the cancel crossed.
      live?.abort(new Error('cancelled by the client'));
      return;
    }
    if (live !== undefined) {
      const message = 'This `request_id` is at work already; choose another.';
      this.#sendError(requestId, badRequest(message, 'request_id', 'request_id_in_use'));
      return;
    }
    const controller = new AbortController();
    this.#live.set(requestId, controller);
    void this.#serve(requestId, frame.body, controller.signal);
  }

  /** Never rejects. */
  async #serve(requestId: string, body: object, signal: AbortSignal): Promise<void> {
    try {
      await this.#answer(requestId, body, signal);
    } catch (error) {
      if (!signal.aborted) this.#sendError(requestId, toApiError(error, this.#context.logger));
    }
    this.#live.delete(requestId);
    this.#transmit({ request_id: requestId, type: 'done' });
    this.#closeIfDrained();
  }

  async #answer(requestId: string, body: object, signal: AbortSignal): Promise<void> {
    requireServing(this.#context);
    const completion = this.#prepare(this.#context, body);
    const deltas = await startGeneration(this.#context, completion.request, signal);
    if (!completion.stream) {
      await this.#send(requestId, completion.whole(await gather(deltas)));
      return;
    }
    const shape = completion.chunks();
    for await (const delta of deltas) {
      for (const chunk of shape.push(delta)) await this.#send(requestId, chunk);
    }
    for (const chunk of shape.end()) await this.#send(requestId, chunk);
  }

  /** Returns at once while the socket keeps up, else when this frame has left. */
  #send(requestId: string, answer: JsonObject): Promise<void> | undefined {
    const frame = { ...answer, request_id: requestId };
    if (this.#socket.bufferedAmount < HIGH_WATER_BYTES) {
      this.#transmit(frame);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#transmit(frame, () => resolve());
    });
  }

  #sendError(requestId: string | null, error: ApiError): void {
    this.#transmit({ ...error.toEnvelope(), request_id: requestId });
  }

  /** @param onSent called also when the socket closes before the frame has left. */
  #transmit(frame: JsonObject, onSent?: () => void): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      this.#socket.send(JSON.stringify(frame), onSent);
    } else {
      onSent?.();
    }
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

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.from(data instanceof ArrayBuffer ? new Uint8Array(data) : data).toString('utf8');
}
