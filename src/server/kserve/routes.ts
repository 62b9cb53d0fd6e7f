/** The Open Inference Protocol over REST, with Triton's extensions. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { callerOf, checkAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { unavailable } from '../errors.ts';
import { requireLive, requireReady } from '../operating/health.ts';
import { parseWith } from '../schemas/parse.ts';
import { readTensorBody } from './body.ts';
import { modelRoutes } from './model-routes.ts';
import { serverMetadata } from './metadata.ts';
import { loadModel, repositoryIndex, unloadModel } from './repository.ts';

const indexBody = z.looseObject({ ready: z.boolean().nullish() });
const loadBody = z.looseObject({ parameters: z.record(z.string(), z.unknown()).nullish() });

export function kserveRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/v2', (c) => c.json(serverMetadata(context)));
  app.get('/v2/health/live', (c) => {
    requireLive(context);
    return c.json({ live: true });
  });
  app.get('/v2/health/ready', (c) => {
    requireReady(context);
    return c.json({ ready: true });
  });
  modelRoutes(app, context);
  repositoryRoutes(app, context);
}

function repositoryRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v2/repository/index', async (c) => {
    const { ready } = parseWith(indexBody, await bodyOf(c, context));
    return c.json(repositoryIndex(context, ready === true));
  });
  app.post('/v2/repository/models/:model{.+}/load', async (c) => {
    checkAdmin(context, c.env.incoming);
    const { parameters } = parseWith(loadBody, await bodyOf(c, context));
    if (context.isDraining()) throw unavailable('The server is shutting down.');
    await loadModel(context, c.req.param('model'), Object.keys(parameters ?? {}));
    return c.json({});
  });
  app.post('/v2/repository/models/:model{.+}/unload', async (c) => {
    checkAdmin(context, c.env.incoming);
    await bodyOf(c, context);
    await unloadModel(context, c.req.param('model'));
    return c.json({});
  });
}

/** Clients leave it out where nothing needs to be said. */
async function bodyOf(c: Context<ServerEnv>, context: ServerContext): Promise<unknown> {
  const { client } = callerOf(context, c);
  const { json } = await readTensorBody(context, c.env.incoming, client);
  return json ?? {};
}
