/** Server-sent events and lines of JSON, written as fast as their client reads. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestRecord } from '../../front/request-record.ts';
import type { JsonObject } from '../json-object.ts';
import { LIMITS } from '../../limits.ts';
import { GrowingBody } from './growing-body.ts';
import { ownTurn } from '../../own-turn.ts';
import { type Sendable, toJson } from './written-json.ts';

/** How events are written. */
export interface EventStyle {
  readonly contentType: string;
  toText(event: Sendable): string;
  /** Text that clients skip, to keep the connection alive or for people; '' if the format has none. */
  toComment(text: string): string;
  /** Text after the last event. */
  readonly end: string;
}

const SERVER_SENT = {
  contentType: 'text/event-stream; charset=utf-8',
  toComment: (text: string) => `: ${text}\n\n`,
};

/** Events without names, of streams that end with their connection. */
export const UNENDING_EVENTS: EventStyle = {
  ...SERVER_SENT,
  toText: (event) => `data: ${toJson(event)}\n\n`,
  end: '',
};

/** OpenAI's older APIs tell of the end. */
export const PLAIN_EVENTS: EventStyle = { ...UNENDING_EVENTS, end: 'data: [DONE]\n\n' };

/** By their `type`, as the Responses and Messages APIs have them. */
export const NAMED_EVENTS: EventStyle = {
  ...SERVER_SENT,
  toText: (event) => `event: ${String(event.type)}\ndata: ${toJson(event)}\n\n`,
  end: '',
};

/** A JSON object on each line, as Ollama has it. */
export const JSON_LINES: EventStyle = {
  contentType: 'application/x-ndjson',
  toText: (event) => `${toJson(event)}\n`,
  toComment: () => '',
  end: '',
};

export interface EventStreamOptions {
  readonly style: EventStyle;
  /**
   * Milliseconds of silence after which a comment line shows client and proxies that the stream is
   * alive.
   */
  readonly pingMs: number;
  /** Response headers, those of middlewares included. */
  readonly headers: Headers;
  /** Event that tells the client of a failure. */
  toErrorEvent(error: unknown): JsonObject;
  /** Its times go out as a `Server-Timing` header, and whole as a comment at the end. */
  readonly record?: RequestRecord;
  /**
   * For streams that can be taken up elsewhere: the id of the batch that comes next, null when the
   * client has its events already. The batch's last event has it: before it arrives, the client has
   * none of the batch.
   */
  eventId?(): string | null;
  /** Rest of the answer, passed on unchanged, if `events` end because another server continues it; otherwise null. */
  rest?(): IncomingMessage | null;
  /**
   * Told of a stream that waits to be read; left out where nobody counts that.
   * @param waiting whose `cut` ends it with an error
   */
  hold?(waiting: { cut(reason: Error): void }): void;
}

/** Events of a batch that leave together; each of an answer's last may have all of it. */
const TURN_CHARACTERS = 2 ** 15;

/** Headers of another server's answer that describe the answer, not the server. */
const PASSED_HEADERS = ['content-type', 'cache-control', 'x-accel-buffering', 'x-resume-token'];

const STREAM_HEADERS = {
  'cache-control': 'no-cache',
  // Keeps nginx from collecting the answer.
  'x-accel-buffering': 'no',
};

/**
 * Answers with `events`, those of one batch together. The headers go out at once, so that a queued
 * request is seen to be alive. A failure becomes the last event. A client that reads slowly holds
 * back the pulling of further ones, so that tokens gather meanwhile into fewer, larger ones. Ends
 * without a word when the client is gone.
 */
export async function writeEventStream(
  response: ServerResponse,
  events: AsyncIterable<readonly Sendable[]>,
  options: EventStreamOptions,
): Promise<void> {
  const { style, record } = options;
  response.writeHead(200, {
    ...Object.fromEntries(options.headers),
    'content-type': style.contentType,
    ...(record && { 'server-timing': record.serverTiming }),
    ...STREAM_HEADERS,
  });
  response.flushHeaders();
  const body = new GrowingBody(response);
  options.hold?.({
    cut(reason) {
      const { socket } = response;
      response.end(style.toText(options.toErrorEvent(reason)) + style.end);
      setTimeout(() => socket?.destroy(), LIMITS.unreadMs).unref();
    },
  });
  const pinger = new Pinger(response, options.pingMs, style.toComment('ping'));
  let ending = '';
  let rest: IncomingMessage | null = null;
  try {
    for await (const batch of events) {
      if (batch.length === 0) continue;
      const id = options.eventId?.();
      if (id === null) continue;
      pinger.wrote();
      let text = '';
      let left = batch.length;
      for (const event of batch) {
        left -= 1;
        if (text.length > TURN_CHARACTERS) {
          await body.write(text);
          await ownTurn();
          if (isOver(response)) break;
          text = '';
        }
        if (id !== undefined && left === 0) text += `id: ${id}\n`;
        text += style.toText(event);
      }
      const isBehind = body.write(text);
      if (isBehind !== undefined) {
        const fullAt = performance.now();
        await isBehind;
        record?.drained(performance.now() - fullAt);
      }
      if (isOver(response)) break;
    }
    rest = options.rest?.() ?? null;
    record?.ended(performance.now());
    if (record) ending = style.toComment(`server-timing ${record.serverTiming}`);
  } catch (error) {
    if (!isOver(response)) ending = style.toText(options.toErrorEvent(error));
  } finally {
    pinger.stop();
  }
  if (isOver(response)) rest?.destroy();
  else if (rest !== null) await relay(rest, body, response);
  else response.end(ending + style.end);
}

/** Its client is gone, or it was cut. */
function isOver({ destroyed, writableEnded }: ServerResponse): boolean {
  return destroyed || writableEnded;
}

/** Answers with what another server answers. @param headers those of middlewares */
export async function passOn(
  response: ServerResponse,
  answer: IncomingMessage,
  headers: Headers,
): Promise<void> {
  const told = PASSED_HEADERS.flatMap((name) => {
    const { [name]: value } = answer.headers;
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  response.writeHead(answer.statusCode ?? 502, {
    ...Object.fromEntries(headers),
    ...Object.fromEntries(told),
  });
  response.flushHeaders();
  await relay(answer, new GrowingBody(response), response);
}

/** Its end included. A client sees that it was cut off by its own connection being cut off. */
async function relay(
  rest: IncomingMessage,
  body: GrowingBody,
  response: ServerResponse,
): Promise<void> {
  response.once('close', () => rest.destroy());
  try {
    for await (const piece of rest.setEncoding('utf8') as AsyncIterable<string>) {
      const isBehind = body.write(piece);
      if (isBehind !== undefined) await isBehind;
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/**
 * One timer per stream, set again only when it fires: a token costs only a reading of the clock.
 */
class Pinger {
  readonly #response: ServerResponse;
  readonly #pingMs: number;
  readonly #ping: string;
  #wroteAt = performance.now();
  #timer: NodeJS.Timeout;

  constructor(response: ServerResponse, pingMs: number, ping: string) {
    this.#response = response;
    this.#pingMs = pingMs;
    this.#ping = ping;
    this.#timer = this.#wait(pingMs);
  }

  wrote(): void {
    this.#wroteAt = performance.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #wait(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#check(), delayMs);
  }

  #check(): void {
    const remainingMs = this.#wroteAt + this.#pingMs - performance.now();
    if (remainingMs > 1) {
      this.#timer = this.#wait(remainingMs);
      return;
    }
    if (!isOver(this.#response) && !this.#response.writableNeedDrain) {
      this.#response.write(this.#ping);
    }
    this.wrote();
    this.#timer = this.#wait(this.#pingMs);
  }
}
