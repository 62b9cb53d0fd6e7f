/** Routes for operators to read and change a running server's state. */
import type { Hono } from 'hono';
import { callerOf, requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { serverState } from '../operating/server-state.ts';
import { logLevelBody } from '../schemas/admin.ts';
import { parseWith } from '../schemas/parse.ts';

export function stateRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/admin/state', requireAdmin(context), (c) => c.json(serverState(context)));
  app.get('/admin/log-level', requireAdmin(context), (c) =>
    c.json({ level: context.logger.level }),
  );
  app.post('/admin/log-level', requireAdmin(context), async (c) => {
    const { client } = callerOf(context, c);
    const { level } = parseWith(logLevelBody, await context.bodies.read(c.env.incoming, client));
    context.logger.level = level;
    return c.json({ level });
  });
}
