/** Loading and unloading models, under llama-server's names. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { UNENDING_EVENTS, writeEventStream } from '../http/sse.ts';
import { modelBody } from '../schemas/admin.ts';
import { parseWith } from '../schemas/parse.ts';
import { toApiError } from '../to-api-error.ts';
import { StatusFeeds } from './status-feeds.ts';

export function adminRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { models, config, logger } = context;
  const feeds = new StatusFeeds(context);
  const verbs = [
    ['/models/load', (name: string) => models.load(name)],
    ['/models/unload', (name: string) => models.unload(name)],
  ] as const;
  for (const [path, act] of verbs) {
    app.post(path, requireAdmin(context), async (c) => {
      const caller = callerOf(context, c);
      const { model } = parseWith(
        modelBody,
        await context.bodies.read(c.env.incoming, caller.client),
      );
      await act(model);
      return c.json({ success: true });
    });
  }
  app.get('/models/sse', async (c) => {
    const { signal } = c.req.raw;
    await writeEventStream(c.env.outgoing, feeds.open(c.get('client') ?? '', signal), {
      style: UNENDING_EVENTS,
      pingMs: config.ssePingMs,
      // A response never sent: it holds the headers that middlewares have set.
      headers: c.body(null).headers,
      toErrorEvent: (error) => ({ ...toApiError(error, logger).toEnvelope() }),
    });
    return RESPONSE_ALREADY_SENT;
  });
}
