/** One log line per HTTP request; never its body, and of its key only the client's name. */
import type { MiddlewareHandler } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';

/** Probed every few seconds: worth a line only when debugging. */
const QUIET_PATHS = /^\/(health|ready|livez|readyz|metrics)$/;

export function requestLog(context: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const startedAt = performance.now();
    await next();
    const level = QUIET_PATHS.test(c.req.path) ? 'debug' : 'info';
    context.logger[level](
      {
        requestId: c.get('requestId'),
        method: c.req.method,
        path: c.req.path,
        client: c.get('client'),
        status: c.env.outgoing.headersSent ? c.env.outgoing.statusCode : c.res.status,
        durationMs: Math.round(performance.now() - startedAt),
      },
      'request',
    );
  };
}
