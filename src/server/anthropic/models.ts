/** /v1/models as Anthropic's clients read it. */
import type { IncomingMessage } from 'node:http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ServerContext, ServerEnv } from '../context.ts';
import { describeModels, findModel } from '../describe-models.ts';
import { badRequest } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { MESSAGES_PATH } from './errors.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** A page follows on a model, or ends before one. */
export const anthropicModelsQuery = z.looseObject({
  limit: z.coerce.number().pipe(z.int().min(1).max(MAX_LIMIT)).optional(),
  after_id: shortText.optional(),
  before_id: shortText.optional(),
});

/** Before the routes of all others: clients of Anthropic, and no others, say which version they know. */
export function anthropicModelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const isTheirs = ({ headers }: IncomingMessage) => headers['anthropic-version'] !== undefined;
  app.get('/v1/models', async (c, next) => {
    if (!isTheirs(c.env.incoming)) return next();
    c.set('apiPath', MESSAGES_PATH);
    return c.json(anthropicModels(await describeModels(context), c.req.query()));
  });
  app.get('/v1/models/:id{.+}', async (c, next) => {
    if (!isTheirs(c.env.incoming)) return next();
    c.set('apiPath', MESSAGES_PATH);
    return c.json(toAnthropicModel(await findModel(context, c.req.param('id'))));
  });
}

/** @param model as OpenAI's clients read it */
function toAnthropicModel({ id, created, max_model_len: maxTokens }: JsonObject): JsonObject {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(Number(created) * 1000).toISOString(),
    max_input_tokens: maxTokens,
    max_tokens: maxTokens,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/**
 * A page of `models`.
 * @throws ApiError 400 for a query that is not as expected, or names what is not there
 */
function anthropicModels(
  models: readonly JsonObject[],
  query: Readonly<Record<string, string>>,
): JsonObject {
  const { limit = DEFAULT_LIMIT, ...ids } = parseWith(anthropicModelsQuery, query);
  const placeOf = (name: 'after_id' | 'before_id'): number | null => {
    const id = ids[name];
    if (id === undefined) return null;
    const place = models.findIndex((model) => model['id'] === id);
    if (place !== -1) return place;
    throw badRequest(`\`${name}\`: there is no such model.`, name, 'invalid_value');
  };
  const before = placeOf('before_id');
  const end = before ?? models.length;
  const start = before === null ? (placeOf('after_id') ?? -1) + 1 : Math.max(0, end - limit);
  const page = models.slice(start, Math.min(end, start + limit)).map(toAnthropicModel);
  return {
    data: page,
    first_id: page[0]?.['id'] ?? null,
    last_id: page.at(-1)?.['id'] ?? null,
    has_more: before === null ? start + limit < models.length : start > 0,
  };
}
