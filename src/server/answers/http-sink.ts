/** An HTTP response as the sink of an answer. */
import type { IncomingMessage } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { AnswerSink, MovingEvents } from './run-answer.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';
import { RESUME_TOKEN_HEADER } from '../resume/movable-answer.ts';
import { answerStream, type StreamForm } from '../http/answer-stream.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJson } from '../http/send-pieces.ts';
import { passOn } from '../http/sse.ts';
import type { Sendable } from '../http/written-json.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

export class HttpSink implements AnswerSink<Response> {
  readonly silenceMs: number | null;
  readonly #c: Context<ServerEnv>;
  readonly #context: ServerContext;
  readonly #form: Pick<StreamForm, 'style' | 'toEvent'>;

  /** @param form of streams */
  constructor(
    c: Context<ServerEnv>,
    context: ServerContext,
    form: Pick<StreamForm, 'style' | 'toEvent'>,
  ) {
    this.#c = c;
    this.#context = context;
    this.#form = form;
    // A format without comments has nothing to begin with, and its client rather gets the right status.
    this.silenceMs = form.style.toComment('') === '' ? null : context.config.ssePingMs;
  }

  stream(
    events: AsyncIterable<readonly Sendable[]>,
    moving: MovingEvents | null,
  ): Promise<Response> {
    if (moving === null) return answerStream(this.#c, this.#context, events, this.#form);
    if (moving.token !== null) this.#c.header(RESUME_TOKEN_HEADER, moving.token);
    return answerStream(this.#c, this.#context, events, {
      ...this.#form,
      eventId: () => moving.takeEventId(),
      rest: () => moving.rest,
    });
  }

  async whole(answer: JsonObject | string): Promise<Response> {
    if (typeof answer === 'string') return this.#c.body(answer, 200, JSON_TYPE);
    return sendJson(this.#c, answer);
  }

  async relay(answer: IncomingMessage): Promise<Response> {
    holdAnswer(this.#c, {});
    await passOn(this.#c.env.outgoing, answer, this.#c.body(null).headers);
    return RESPONSE_ALREADY_SENT;
  }
}
