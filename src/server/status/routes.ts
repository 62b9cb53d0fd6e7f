/** Routes for the operator's page. */
import type { Hono } from 'hono';
import { requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { statusQuery } from '../schemas/admin.ts';
import { parseWith } from '../schemas/parse.ts';
import { serverStatus } from './server-status.ts';
import { describeSetting } from './settings.ts';

export function statusRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/admin/status', requireAdmin(context), (c) => {
    const { since } = parseWith(statusQuery, c.req.query());
    return c.json(serverStatus(context, since ?? null));
  });
  app.get('/admin/config', requireAdmin(context), (c) =>
    c.json({ object: 'list', data: context.settings().map(describeSetting) }),
  );
}
