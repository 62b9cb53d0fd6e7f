/** One log line and one count per HTTP request; never its body, and of its key only the client's name. */
import { routePath } from 'hono/route';
import type { Context, MiddlewareHandler } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';

/** Probed every few seconds: worth a line only when debugging. */
const QUIET_PATHS = /^\/(health|ready|livez|readyz|metrics|v2\/health\/\w+)$/;

export function requestLog(context: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const startedAt = performance.now();
    await next();
    const level = QUIET_PATHS.test(c.req.path) ? 'debug' : 'info';
    const status = c.env.outgoing.headersSent ? c.env.outgoing.statusCode : c.res.status;
    context.metrics.countRequest(c.req.method, routeOf(c), status);
    context.logger[level](
      {
        requestId: c.get('requestId'),
        method: c.req.method,
        path: c.req.path,
        client: c.get('client'),
        status,
        durationMs: Math.round(performance.now() - startedAt),
      },
      'request',
    );
  };
}

/** The pattern of the route, of which there are few; paths are any number. */
function routeOf(c: Context<ServerEnv>): string {
  const route = routePath(c, -1);
  return route.endsWith('*') ? 'other' : route;
}
