/** /admin/steps: the running batch, iteration by iteration, for operators. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { TextRuntime } from '../runtimes.ts';
import { badRequest, modelNotLoaded } from '../errors.ts';
import { UNENDING_EVENTS, writeEventStream } from '../http/sse.ts';
import { parseWith } from '../schemas/parse.ts';
import { stepsQuery } from '../schemas/steps.ts';
import { toApiError } from '../to-api-error.ts';
import { StepFeeds } from './step-feeds.ts';

export function stepsRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  const { config, logger } = context;
  const feeds = new StepFeeds(context);
  app.get('/admin/steps', requireAdmin(context), async (c) => {
    const { model, every = 1 } = parseWith(stepsQuery, c.req.query());
    const runtime = watchedModel(context, model);
    const events = feeds.open(runtime, every, c.req.raw.signal);
    await writeEventStream(c.env.outgoing, events, {
      style: UNENDING_EVENTS,
      pingMs: config.ssePingMs,
      // A response never sent: it holds the headers that middlewares have set.
      headers: c.body(null).headers,
      toErrorEvent: (error) => ({ ...toApiError(error, logger).toEnvelope() }),
    });
    return RESPONSE_ALREADY_SENT;
  });
}

/**
 * A model that generates text and is loaded: to be watched is no reason to load one.
 * @param name the first such model if left out
 * @throws UnknownModelError; ApiError 400 for another kind of model, 409 if it is not loaded
 */
function watchedModel({ models }: ServerContext, name: string | undefined): TextRuntime {
  const runtimes =
    name === undefined
      ? models.loaded().map(({ runtime }) => runtime)
      : [models.runtimeOf(models.find(name))].filter((runtime) => runtime !== null);
  const found = runtimes.find((runtime) => runtime.kind === 'text');
  if (found !== undefined) return found;
  if (runtimes.length === 0) throw modelNotLoaded();
  throw badRequest('The model does not generate text: it has no iterations.', 'model');
}
