/** /v1/models: what is served here. */
import type { Hono } from 'hono';
import type { ServedModel, ServerContext, ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';
import { requireServedModel } from '../served-model.ts';

export function modelRoutes(app: Hono<ServerEnv>, { model }: ServerContext): void {
  // The second, llama.cpp's, is open to all, so that a page can tell what is served here.
  for (const path of ['/v1/models', '/models']) {
    app.get(path, (c) => c.json({ object: 'list', data: [describe(model)] }));
  }
  // Names may hold slashes, as those of the Hugging Face hub do.
  app.get('/v1/models/:id{.+}', (c) => {
    requireServedModel(model, c.req.param('id'));
    return c.json(describe(model));
  });
}

function describe(model: ServedModel): JsonObject {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: 'chairlift',
    root: model.id,
    parent: null,
    max_model_len: model.maxModelLen,
  };
}
