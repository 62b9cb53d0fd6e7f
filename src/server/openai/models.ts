/** /v1/models: what is served here. */
import type { Hono } from 'hono';
import { llamaStatus } from '../admin/llama-status.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { describeModels, findModel } from '../describe-models.ts';

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/v1/models', async (c) => {
    const data = await describeModels(context);
    // Codex gives its version, and reads `models`: the catalog of a service, with instructions that
    // would replace its own. None of it is ours to say, and without the list it reports a failure.
    const isCodex = c.req.query('client_version') !== undefined;
    return c.json({ object: 'list', data, ...(isCodex ? { models: [] } : {}) });
  });
  // llama-server's, in its words; open to all, so that a page can tell what is served here.
  app.get('/models', async (c) =>
    c.json({ object: 'list', data: await describeModels(context, llamaStatus) }),
  );
  // Names may hold slashes, as those of the Hugging Face hub do.
  app.get('/v1/models/:id{.+}', async (c) => c.json(await findModel(context, c.req.param('id'))));
}
