/** `/metrics` in Prometheus' text format; the operator's alone where the server has an admin key. */
import type { Hono } from 'hono';
import { requireAdminKey } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';

export function metricsRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  const { metrics } = context;
  app.get('/metrics', requireAdminKey(context), async (c) =>
    c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }),
  );
}
