/** Answers a route with a stream of events. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { ApiError } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { toApiError } from '../to-api-error.ts';
import { holdAnswer } from './hold-answer.ts';
import { type EventStreamOptions, writeEventStream } from './sse.ts';
import type { Sendable } from './written-json.ts';

/** Form of an API's streams. */
export interface StreamForm extends Pick<EventStreamOptions, 'style' | 'eventId' | 'rest'> {
  /** A failure, which becomes the last event, in the API's words. */
  readonly toEvent: (error: ApiError) => JsonObject;
}

export async function answerStream(
  c: Context<ServerEnv>,
  { config, logger }: Pick<ServerContext, 'config' | 'logger'>,
  events: AsyncIterable<readonly Sendable[]>,
  { toEvent, ...form }: StreamForm,
): Promise<Response> {
  await writeEventStream(c.env.outgoing, events, {
    ...form,
    pingMs: config.ssePingMs,
    // A response never sent: it holds the headers that middlewares have set.
    headers: c.body(null).headers,
    record: c.get('record'),
    hold: (waiting) => holdAnswer(c, waiting),
    toErrorEvent(error) {
      const failure = toApiError(error, logger);
      if (failure.code !== null) c.set('errorCode', failure.code);
      return toEvent(failure);
    },
  });
  return RESPONSE_ALREADY_SENT;
}
