/** Responses that are there: get, list the input of, cancel, delete. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, badRequest } from '../errors.ts';
import { answerStream } from '../http/answer-stream.ts';
import { StreamPlaces } from '../http/stream-places.ts';
import type { JsonObject } from '../json-object.ts';
import { withModel } from '../model-access.ts';
import { parseWith } from '../schemas/parse.ts';
import { RESPONSES_API } from './api.ts';
import { compactConversation } from './compact.ts';
import { PreparedResponse } from './create.ts';
import { listItems } from './list-items.ts';
import type { FoundResponse, ResponsePartition } from './partition.ts';
import { told } from '../../told.ts';

/** How a response is read again. */
export const readQuery = z.looseObject({
  stream: z.enum(['true', 'false']).optional(),
  /** Number of the event that the stream follows on. */
  starting_after: z
    .string()
    .regex(/^\d{1,15}$/, 'expected the number of an event')
    .transform(Number)
    .pipe(z.int().min(0))
    .optional(),
});

export function responseRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const places = new StreamPlaces(
    { all: LIMITS.eventReaders, ofClient: LIMITS.clientEventReaders },
    'the events of responses',
  );
  const partitionOf = (c: Context<ServerEnv>) => context.responses.of(c.get('client') ?? '');
  app.post('/v1/responses/input_tokens', async (c) => {
    const caller = callerOf(context, c);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    const turnOf = (id: string) => partitionOf(c).turnOf(id);
    return withModel(context, json, caller, async (model) => {
      // As it is, whatever would be summed up first.
      const asked = Object(json) === json ? { ...Object(json), context_management: null } : json;
      const { numInputTokens } = await PreparedResponse.prepare(
        model,
        asked,
        turnOf,
        caller,
        context,
      );
      return c.json({ object: 'response.input_tokens', input_tokens: numInputTokens });
    });
  });
  app.post('/v1/responses/compact', async (c) => {
    const caller = callerOf(context, c);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    const turnOf = (id: string) => partitionOf(c).turnOf(id);
    return withModel(context, json, caller, async (model) =>
      c.json(await compactConversation(model, json, turnOf, caller, context)),
    );
  });
  app.get('/v1/responses/:id', async (c) => {
    const { responseJson, events } = find(partitionOf(c), c.req.param('id'));
    const { stream, starting_after: after = -1 } = parseWith(readQuery, c.req.query());
    if (stream !== 'true') {
      return c.body(responseJson, 200, { 'content-type': 'application/json' });
    }
    if (events === null) {
      const message =
        'Only responses created with `background` and `stream` can be streamed again.';
      throw badRequest(message, 'stream', 'unsupported_parameter');
    }
    const leave = places.take(c.get('client') ?? '');
    try {
      const { style, toEvent } = RESPONSES_API;
      const requestId = c.get('requestId');
      return await answerStream(c, context, events.read(after, c.req.raw.signal), {
        style,
        toEvent: (error) => toEvent(error, requestId),
      });
    } finally {
      leave();
    }
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

function find(partition: ResponsePartition, id: string): FoundResponse {
  const stored = partition.get(id);
  if (stored !== undefined) return stored;
  throw new ApiError(404, 'NotFoundError', `Response with id '${told(id, 100)}' not found.`, {
    code: 'response_not_found',
  });
}
