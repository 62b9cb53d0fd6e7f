/** Frames of an answer that may move: how to go on with it, and what comes from another server. */
import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { AnswerSink, MovingEvents } from '../answers/run-answer.ts';
import { ApiError, badRequest, type ErrorEnvelope, unavailable } from '../errors.ts';
import { type Sendable, WrittenJson } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';

/**
 * @param more further fields of the frame: `resume_token` of the first, `event_id` of the last of
 *   those that come together
 * @returns nothing while the client keeps up
 */
export type SendFrame = (frame: Sendable, more: object) => Promise<void> | undefined;

/** A WebSocket as the sink of one of its answers, which are sent frame by frame. */
export class SocketSink implements AnswerSink<void> {
  /** Pings show that the socket lives. */
  readonly silenceMs = null;
  readonly #send: SendFrame;
  readonly #signal: AbortSignal;
  readonly #sendWhole: (answer: JsonObject) => Promise<void> | undefined;

  /**
   * @param signal aborts when the client has left
   * @param sendWhole sends an answer that is one frame; left out where none is too long for a turn
   */
  constructor(
    send: SendFrame,
    signal: AbortSignal,
    sendWhole: (answer: JsonObject) => Promise<void> | undefined = (answer) => send(answer, {}),
  ) {
    this.#send = send;
    this.#signal = signal;
    this.#sendWhole = sendWhole;
  }

  async stream(
    events: AsyncIterable<readonly Sendable[]>,
    moving: MovingEvents | null,
  ): Promise<void> {
    let first: object = moving === null ? {} : { resume_token: moving.token };
    for await (const frames of events) {
      if (frames.length === 0) continue;
      const eventId = moving?.takeEventId();
      if (eventId === null) continue;
      for (const [index, frame] of frames.entries()) {
        const isLast = index === frames.length - 1;
        const isBehind = this.#send(frame, {
          ...first,
          ...(isLast && eventId !== undefined ? { event_id: eventId } : {}),
        });
        first = {};
        if (isBehind !== undefined) await isBehind;
      }
    }
    const rest = moving?.rest ?? null;
    if (rest !== null) await this.relay(rest);
  }

  async whole(answer: JsonObject | string): Promise<void> {
    if (typeof answer === 'string') await this.#send(new WrittenJson(answer, undefined), {});
    else await this.#sendWhole(answer);
  }

  relay(answer: IncomingMessage): Promise<void> {
    return relayFrames(answer, this.#signal, this.#send);
  }
}

/**
 * Sends what another server answers, events or an object.
 * @throws ApiError 400 of that server, 503 when its connection breaks; the signal's reason
 */
async function relayFrames(
  answer: IncomingMessage,
  signal: AbortSignal,
  send: SendFrame,
): Promise<void> {
  // It ends when its client leaves.
  const rest = addAbortSignal(signal, answer.setEncoding('utf8'));
  try {
    if (rest.headers['content-type']?.startsWith('text/event-stream')) {
      await relayEvents(rest, send);
    } else {
      const whole = await text(rest);
      if (rest.statusCode !== 200) throw refusalIn(whole);
      await send(new WrittenJson(whole, undefined), {});
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    signal.throwIfAborted();
    throw unavailable('The replica that went on with the answer is gone.');
  }
}

async function relayEvents(rest: IncomingMessage, send: SendFrame): Promise<void> {
  const { 'x-resume-token': token } = rest.headers;
  let first = token === undefined ? {} : { resume_token: token };
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  for await (const piece of rest as AsyncIterable<string>) {
    parser.feed(piece);
    for (const { id, data } of events.splice(0)) {
      if (data === '[DONE]') continue;
      const eventId = id === undefined ? {} : { event_id: id };
      const isBehind = send(new WrittenJson(data, undefined), { ...first, ...eventId });
      first = {};
      if (isBehind !== undefined) await isBehind;
    }
  }
}

function refusalIn(json: string): ApiError {
  const { error }: ErrorEnvelope = JSON.parse(json);
  const { message, param, code } = error;
  return badRequest(message, param, code);
}
