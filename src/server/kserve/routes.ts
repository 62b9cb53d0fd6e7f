/** The Open Inference Protocol over REST, with Triton's extensions. */
import type { Context, Hono } from 'hono';
import { callerOf, checkAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { routeNotFound, unavailable } from '../errors.ts';
import { requireLive, requireReady } from '../operating/health.ts';
import { parseWith } from '../schemas/parse.ts';
import { readTensorBody } from './body.ts';
import { decodeModelPath, splitModelPath } from './model-path.ts';
import { modelRoutes } from './model-routes.ts';
import { serverMetadata } from './metadata.ts';
import { indexBody, loadBody } from './repository-bodies.ts';
import { loadModel, repositoryIndex, unloadModel } from './repository.ts';

const REPOSITORY = '/v2/repository/models/';

type Change = (c: Context<ServerEnv>, context: ServerContext, model: string) => Promise<Response>;

const CHANGES: Readonly<Record<string, Change>> = { load, unload };

/** Paths that the router's wildcard stands for. */
export const REPOSITORY_PATTERNS = Object.keys(CHANGES).map((action) => ({
  method: 'POST',
  path: patternOf(action),
}));

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
  app.post(`${REPOSITORY}*`, (c) => {
    const { method, path } = c.req;
    const split = splitModelPath(path.slice(REPOSITORY.length), Object.keys(CHANGES));
    const change = CHANGES[split.action];
    if (change === undefined || split.version !== '') throw routeNotFound(method, path);
    c.set('route', patternOf(split.action));
    return change(c, context, decodeModelPath(split).model);
  });
}

async function load(c: Context<ServerEnv>, context: ServerContext, model: string) {
  checkAdmin(context, c.env.incoming);
  const { parameters } = parseWith(loadBody, await bodyOf(c, context));
  if (context.isDraining()) throw unavailable('The server is shutting down.');
  await loadModel(context, model, Object.keys(parameters ?? {}));
  return c.json({});
}

async function unload(c: Context<ServerEnv>, context: ServerContext, model: string) {
  checkAdmin(context, c.env.incoming);
  await bodyOf(c, context);
  await unloadModel(context, model);
  return c.json({});
}

function patternOf(action: string): string {
  return `${REPOSITORY}:model/${action}`;
}

/** Clients leave it out where nothing needs to be said. */
async function bodyOf(c: Context<ServerEnv>, context: ServerContext): Promise<unknown> {
  const { client } = callerOf(context, c);
  const { json } = await readTensorBody(context, c.env.incoming, client);
  return json ?? {};
}
