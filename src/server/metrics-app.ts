/** App on the port of --metrics-port: metrics and probes, for everybody who can reach it. */
import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import type { ServerContext, ServerEnv } from './context.ts';
import { routeNotFound } from './errors.ts';
import { allowHosts } from './http/hosts.ts';
import { requestLog } from './operating/request-log.ts';
import { healthRoutes } from './operating/health.ts';
import { metricsRoute } from './operating/metrics-route.ts';
import { toApiError } from './to-api-error.ts';

export function createMetricsApp(context: ServerContext): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>();
  app.use(requestId());
  app.use(requestLog(context));
  app.use(allowHosts(context));
  healthRoutes(app, context);
  metricsRoute(app, context);
  app.notFound((c) => c.json(routeNotFound(c.req.method, c.req.path).toEnvelope(), 404));
  app.onError((error, c) => {
    const failure = toApiError(error, context.logger);
    return c.json(failure.toEnvelope(), failure.status, failure.headers);
  });
  return app;
}
