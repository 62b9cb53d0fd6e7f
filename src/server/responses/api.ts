/** /v1/responses over HTTP: streamed, in one piece, or in the background. */
import type { Caller } from '../../front/caller.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { withDeadline } from '../../front/deadline.ts';
import { NAMED_EVENTS } from '../http/sse.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import { PreparedResponse, type ResponseServices } from './create.ts';
import { EventLog } from './event-log.ts';
import type { ResponseEvent } from './response-event.ts';

export const RESPONSES_PATH = '/v1/responses';

export const RESPONSES_API: AnswerApi = {
  path: RESPONSES_PATH,
  shortPath: '/responses',
  prepare: prepareResponse,
  style: NAMED_EVENTS,
  // A failure of the generation is an event already.
  toEvent: (error) => ({ ...error.toEnvelope().error, type: 'error' }),
};

type Server = ResponseServices & Pick<ServerContext, 'config'>;

/** @throws ApiError 4xx when the body can't be served. */
async function prepareResponse(
  served: ServedText,
  json: unknown,
  caller: Caller,
  server: Server,
): Promise<PreparedAnswer> {
  const turnOf = (id: string) => server.responses.of(caller.client).turnOf(id);
  const prepared = await PreparedResponse.prepare(served, json, turnOf, caller, server);
  const { body } = prepared;
  const runInBackground = (starter: Caller, log: EventLog | null) =>
    startInBackground(prepared, served, starter, server, log);
  if (body.background === true) requireKept(body, server, caller);
  return {
    stream: body.stream ?? false,
    async chunks(starter) {
      if (body.background !== true) return prepared.start(starter);
      const log = new EventLog();
      await runInBackground(starter, log);
      return log.read(-1, starter.signal);
    },
    async whole(starter) {
      if (body.background === true) {
        await runInBackground(starter, null);
        return prepared.response;
      }
      const events = await prepared.start(starter);
      for await (const _ of events);
      if (prepared.error !== null) throw prepared.error;
      return prepared.response;
    },
  };
}

/** @throws ApiError 400 for a background response that nobody could get, or that was begun elsewhere */
function requireKept(body: ResponseBody, { responses }: Server, { answer }: Caller): void {
  if (body.store === false || !responses.isEnabled) {
    const message = 'A background response must be stored, and this one would not be.';
    throw badRequest(message, 'background', 'invalid_value');
  }
  if (answer?.adapter !== undefined) {
    const message = 'A background response is not continued by another server.';
    throw badRequest(message, 'resume', 'invalid_value');
  }
}

/**
 * Lets it run beyond its request; it is found in the store.
 * @param log gets its events; null where nobody can read them
 */
async function startInBackground(
  prepared: PreparedResponse,
  { keepLoaded }: ServedText,
  { answer: _staysHere, ...caller }: Caller,
  server: Server,
  log: EventLog | null,
): Promise<void> {
  const controller = new AbortController();
  const cancel = (): void => controller.abort(new Error('cancelled by the client'));
  const signal = withDeadline(controller.signal, server.config.requestTimeoutMs);
  const events = await prepared.start({ ...caller, signal }, cancel, log);
  const partition = server.responses.of(caller.client);
  const tell = (told: readonly ResponseEvent[]): void => partition.tell(prepared.id, told);
  const drained = drain(events, server, tell).catch((error: unknown) => controller.abort(error));
  const release = keepLoaded();
  void drained.finally(() => {
    log?.end();
    release();
  });
}

async function drain(
  events: AsyncIterable<readonly ResponseEvent[]>,
  { logger }: Server,
  onEvents: (events: readonly ResponseEvent[]) => void,
): Promise<void> {
  try {
    for await (const told of events) onEvents(told);
  } catch (error) {
    logger.debug({ err: error }, 'background response cancelled');
    throw error;
  }
}
