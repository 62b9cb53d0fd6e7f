/** Server-sent events and lines of JSON, written as fast as their client reads. */
import type { ServerResponse } from 'node:http';
import type { RequestRecord } from '../../front/request-record.ts';
import type { JsonObject } from '../json-object.ts';
import { GrowingBody } from './growing-body.ts';
import { type Sendable, toJson } from './written-json.ts';

/** How events are written. */
export interface EventStyle {
  readonly contentType: string;
  toText(event: Sendable): string;
  /** Text that clients skip, to keep the connection alive or for people; '' if the format has none. */
  toComment(text: string): string;
  /** What follows the last event. */
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
  /** Events that go out at once. */
  readonly first?: readonly Sendable[];
  /**
   * Milliseconds of silence after which a comment line shows client and proxies that the stream is
   * alive.
   */
  readonly pingMs: number;
  /** Response headers, those of middlewares included. */
  readonly headers: Headers;
  /** What the client gets to see of a failure. */
  toErrorEvent(error: unknown): JsonObject;
  /** Its times go out as a `Server-Timing` header, and whole as a comment at the end. */
  readonly record?: RequestRecord;
}

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
  const { first = [] } = options;
  if (first.length > 0) void body.write(toText(first, style));
  const pinger = new Pinger(response, options.pingMs, style.toComment('ping'));
  let ending = '';
  try {
    for await (const batch of events) {
      if (batch.length === 0) continue;
      pinger.wrote();
      const isBehind = body.write(toText(batch, style));
      if (isBehind !== undefined) {
        const fullAt = performance.now();
        await isBehind;
        record?.drained(performance.now() - fullAt);
      }
      if (response.destroyed) break;
    }
    record?.ended(performance.now());
    if (record) ending = style.toComment(`server-timing ${record.serverTiming}`);
  } catch (error) {
    if (!response.destroyed) ending = style.toText(options.toErrorEvent(error));
  } finally {
    pinger.stop();
  }
  if (!response.destroyed) response.end(ending + style.end);
}

function toText(events: readonly Sendable[], style: EventStyle): string {
  let text = '';
  for (const event of events) text += style.toText(event);
  return text;
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
    if (!this.#response.destroyed && !this.#response.writableNeedDrain) {
      this.#response.write(this.#ping);
    }
    this.wrote();
    this.#timer = this.#wait(this.#pingMs);
  }
}
