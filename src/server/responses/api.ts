/** /v1/responses over HTTP: streamed, in one piece, or in the background. */
import type { Caller } from '../../front/caller.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ModelContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { withDeadline } from '../generation/deadline.ts';
import { NAMED_EVENTS } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import { PreparedResponse } from './create.ts';

export const RESPONSES_PATH = '/v1/responses';

export const RESPONSES_API: AnswerApi = {
  path: RESPONSES_PATH,
  prepare: prepareResponse,
  style: NAMED_EVENTS,
  // A failure of the generation is an event already.
  toEvent: (error) => ({ ...error.toEnvelope().error, type: 'error' }),
};

/** @throws ApiError 4xx when the body can't be served. */
async function prepareResponse(
  context: ModelContext,
  json: unknown,
  caller: Caller,
): Promise<PreparedAnswer> {
  const { responses } = context;
  const turnOf = (id: string) => responses.of(caller.client).turnOf(id);
  const prepared = await PreparedResponse.prepare(context, json, turnOf, caller);
  const { body } = prepared;
  if (body.background === true) requirePolled(body, context);
  return {
    stream: body.stream ?? false,
    chunks: (starter) => prepared.start(starter),
    async whole(starter) {
      if (body.background === true) return createInBackground(prepared, context, starter);
      const events = await prepared.start(starter);
      for await (const _ of events);
      if (prepared.error !== null) throw prepared.error;
      return prepared.response;
    },
  };
}

/** @throws ApiError 400 for a background response that nobody could get */
function requirePolled(body: ResponseBody, { responses }: ModelContext): void {
  if (body.store === false || !responses.isEnabled) {
    const message = 'A background response must be stored, and this one would not be.';
    throw badRequest(message, 'background', 'invalid_value');
  }
  if (body.stream === true) {
    const message = 'A background response can be polled, not streamed.';
    throw badRequest(message, 'stream', 'unsupported_parameter');
  }
}

/** Lets it run beyond its request; it is found in the store. */
async function createInBackground(
  prepared: PreparedResponse,
  context: ModelContext,
  caller: Caller,
): Promise<JsonObject> {
  const controller = new AbortController();
  const cancel = (): void => controller.abort(new Error('cancelled by the client'));
  const signal = withDeadline(controller.signal, context.config.requestTimeoutMs);
  const events = await prepared.start({ ...caller, signal }, cancel);
  const answer = prepared.response;
  void drain(events, context, context.keepLoaded());
  return answer;
}

/** Never rejects. */
async function drain(
  events: AsyncIterable<unknown>,
  { logger }: ModelContext,
  release: () => void,
): Promise<void> {
  try {
    for await (const _ of events);
  } catch (error) {
    logger.debug({ err: error }, 'background response cancelled');
  } finally {
    release();
  }
}
