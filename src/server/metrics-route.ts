/** `/metrics` in Prometheus' text format. */
import type { Hono } from 'hono';
import type { ServerContext, ServerEnv } from './context.ts';

export function metricsRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  const { registry } = context.metrics;
  app.get('/metrics', async (c) =>
    c.body(await registry.metrics(), 200, { 'content-type': registry.contentType }),
  );
}
