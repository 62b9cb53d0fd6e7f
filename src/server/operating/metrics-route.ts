/** `/metrics` in Prometheus' text format. */
import type { Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';

export function metricsRoute(
  app: Hono<ServerEnv>,
  { metrics }: Pick<ServerContext, 'metrics'>,
): void {
  app.get('/metrics', async (c) =>
    c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }),
  );
}
