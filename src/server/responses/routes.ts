/** Responses that are there: get, list the input of, cancel, delete. */
import type { Context, Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { listItems } from './list-items.ts';
import type { ResponsePartition, StoredResponse } from './partition.ts';

export function responseRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const partitionOf = (c: Context<ServerEnv>) => context.responses.of(c.get('client') ?? '');
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
