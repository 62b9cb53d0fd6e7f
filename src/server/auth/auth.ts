/** Which requests need which key. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Caller } from '../../front/caller.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { withDeadline } from '../generation/deadline.ts';

/** Probes and scrapers have no key, and the documentation is public. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  '/health',
  '/ready',
  '/livez',
  '/readyz',
  '/version',
  '/metrics',
  '/models',
  '/openapi.json',
  '/docs',
]);

/** Guards every path but the probes' and the scraper's. */
export function auth({ keys }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    if (!OPEN_PATHS.has(c.req.path)) {
      const key = keys.identify(c.env.incoming.headers);
      if (key !== null) c.set('client', key.client);
    }
    await next();
  };
}

/** Guards the operator's routes, if the server has an admin key. */
export function requireAdmin({ keys }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    keys.requireAdmin(c.env.incoming.headers);
    await next();
  };
}

/** Who sent the request of `c`; to be called once, since the request's time begins here. */
export function callerOf({ config }: ServerContext, c: Context<ServerEnv>): Caller {
  const signal = withDeadline(c.req.raw.signal, config.requestTimeoutMs);
  return { client: c.get('client') ?? '', signal };
}
