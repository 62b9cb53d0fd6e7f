/** Ollama's API, so that its clients find the models and stream from them. */
import type { Context, Hono } from 'hono';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { badRequest, notImplemented } from '../errors.ts';
import { ollamaModelBody } from '../schemas/ollama.ts';
import { parseWith } from '../schemas/parse.ts';
import { embedRoutes } from './embed-routes.ts';
import { generationRoutes } from './generation-routes.ts';
import { writeLines } from './lines.ts';
import { listLoaded, listModels, showModel } from './model-facts.ts';
import { toHubReference, toRegistryName } from './names.ts';
import { Pulls } from './pull.ts';

/**
 * The first version of Ollama with all of its APIs that are here: its own, with tools, thoughts,
 * schemas and log-probabilities (0.12.11), and those of OpenAI's responses (0.13.3) and of Anthropic.
 * Editors and agents refuse versions that are too old for them.
 */
const OLLAMA_VERSION = '0.14.0';

const NO_FILES =
  'A model is a folder here: put it into the folder of --model-repository, or take it away from there; ' +
  '`chairlift rm` removes what was downloaded.';

/** Verbs for what does not exist here, each with the reason. */
const REFUSED = [
  ['POST', '/api/create', NO_FILES],
  ['POST', '/api/copy', NO_FILES],
  ['POST', '/api/push', 'Models are not published from here.'],
  ['DELETE', '/api/delete', NO_FILES],
] as const;

export function ollamaRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/api/version', (c) =>
    c.json({ version: OLLAMA_VERSION, chairlift: context.config.version }),
  );
  app.get('/api/tags', async (c) => c.json({ models: await listModels(context) }));
  app.get('/api/ps', (c) => c.json({ models: listLoaded(context) }));
  app.post('/api/show', async (c) => {
    const { name } = await readModelBody(c, context);
    const { models } = context;
    const info = models.find(toRegistryName(name, models.list()));
    return c.json(await showModel(context, info));
  });
  generationRoutes(app, context);
  embedRoutes(app, context);
  pullRoute(app, context);
  for (const [method, path, reason] of REFUSED) {
    app.on(method, path, () => {
      throw notImplemented(reason);
    });
  }
}

function pullRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  const { pullModel } = context;
  const pulls = pullModel && new Pulls(pullModel);
  app.post('/api/pull', requireAdmin(context), async (c) => {
    const { name, streams } = await readModelBody(c, context);
    if (pulls === undefined) throw notImplemented('This server downloads no models.');
    const reference = toHubReference(name);
    if (reference === null) {
      const message = 'Models come from the hub: expected hf.co/owner/name or hf:owner/name.';
      throw badRequest(`\`model\`: ${message}`, 'model', 'invalid_value');
    }
    const lines = pulls.start(reference, c.req.raw.signal);
    if (streams) return writeLines(c, context, lines);
    for await (const _ of lines);
    return c.json({ status: 'success' });
  });
}

async function readModelBody(c: Context<ServerEnv>, context: ServerContext) {
  const { client } = callerOf(context, c);
  const body = parseWith(ollamaModelBody, await context.bodies.read(c.env.incoming, client));
  const name = body.model ?? body.name ?? '';
  if (name !== '') return { name, streams: body.stream ?? true };
  throw badRequest('`model` is required.', 'model', 'missing_required_parameter');
}
