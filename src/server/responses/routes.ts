/** /v1/responses over HTTP: create, get, list the input of, cancel, delete. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { withDeadline } from '../generation/deadline.ts';
import { ApiError, badRequest } from '../errors.ts';
import { answerStream } from '../http/answer-stream.ts';
import { NAMED_EVENTS } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { requireServing } from '../generation/start-generation.ts';
import { acquireModel } from '../model-access.ts';
import { eventsWhenLoaded, isLoading, wantsStream } from '../while-loading.ts';
import { PreparedResponse } from './create.ts';
import { listItems } from './list-items.ts';
import type { ResponsePartition, StoredResponse } from './partition.ts';

export function responseRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const partitionOf = (c: Context<ServerEnv>) => context.responses.of(c.get('client') ?? '');
  app.post('/v1/responses', (c) => create(c, context));
  app.get('/v1/responses/:id', (c) => {
    if (c.req.query('stream') === 'true') {
      throw badRequest(
        'A response can be streamed while it is created, not afterwards.',
        'stream',
        'unsupported_parameter',
      );
    }
    return c.json(find(partitionOf(c), c.req.param('id')).response);
  });
  app.get('/v1/responses/:id/input_items', (c) => {
    const { input } = find(partitionOf(c), c.req.param('id'));
    return c.json(listItems(input, c.req.query()));
  });
  app.post('/v1/responses/:id/cancel', (c) =>
    c.json(cancelResponse(partitionOf(c), c.req.param('id'))),
  );
  app.delete('/v1/responses/:id', (c) => {
    const partition = partitionOf(c);
    const { id, cancel: end } = find(partition, c.req.param('id'));
    end?.();
    partition.delete(id);
    return c.json({ id, object: 'response', deleted: true });
  });
}

async function create(c: Context<ServerEnv>, context: ServerContext): Promise<Response> {
  const { incoming } = c.env;
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  const acquiring = acquireModel(context, json, caller);
  if (wantsStream(json) && (await isLoading(acquiring, context.config))) {
    const events = eventsWhenLoaded(acquiring, async (model) => {
      const prepared = await prepare(model, json, caller);
      // Refuses what can't be streamed.
      if (prepared.body.background === true) await createInBackground(prepared, model, caller);
      return prepared.start(caller);
    });
    return streamTo(c, context, events);
  }
  const { model, release } = await acquiring;
  try {
    return await respond(c, model, json, caller);
  } finally {
    release();
  }
}

function prepare(context: ModelContext, json: unknown, caller: Caller): Promise<PreparedResponse> {
  const { responses } = context;
  const turnOf = (id: string) => responses.of(caller.client).turnOf(id);
  return PreparedResponse.prepare(context, json, turnOf, caller);
}

function streamTo(
  c: Context<ServerEnv>,
  context: ServerContext,
  events: AsyncIterable<readonly JsonObject[]>,
): Promise<Response> {
  // A failure of the generation is an event already.
  const toEvent = (error: ApiError) => ({ ...error.toEnvelope().error, type: 'error' });
  return answerStream(c, context, events, { style: NAMED_EVENTS, toEvent });
}

async function respond(
  c: Context<ServerEnv>,
  context: ModelContext,
  json: unknown,
  caller: Caller,
): Promise<Response> {
  const prepared = await prepare(context, json, caller);
  const { body } = prepared;
  if (body.background === true) return c.json(await createInBackground(prepared, context, caller));
  const events = await prepared.start(caller);
  if (body.stream === true) return streamTo(c, context, events);
  for await (const _ of events);
  if (prepared.error !== null) throw prepared.error;
  return c.json(prepared.response);
}

/** Lets it run beyond its request; it is found in the store. */
async function createInBackground(
  prepared: PreparedResponse,
  context: ModelContext,
  caller: Caller,
): Promise<JsonObject> {
  const { body } = prepared;
  if (body.store === false || !context.responses.isEnabled) {
    const message = 'A background response must be stored, and this one would not be.';
    throw badRequest(message, 'background', 'invalid_value');
  }
  if (body.stream === true) {
    const message = 'A background response can be polled, not streamed.';
    throw badRequest(message, 'stream', 'unsupported_parameter');
  }
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

function cancelResponse(partition: ResponsePartition, id: string): JsonObject {
  const { cancel: end, response } = find(partition, id);
  if (response['background'] !== true) {
    const message = 'Only responses created with `background: true` can be cancelled.';
    throw badRequest(message, null, 'invalid_value');
  }
  if (end === null) return response;
  end();
  // The generation notices within an iteration.
  return { ...response, status: 'cancelled' };
}

function find(partition: ResponsePartition, id: string): StoredResponse {
  const stored = partition.get(id);
  if (stored !== undefined) return stored;
  throw new ApiError(404, 'NotFoundError', `Response with id '${id.slice(0, 100)}' not found.`, {
    code: 'response_not_found',
  });
}
