/** Which requests need which key. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Caller } from '../../front/caller.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { adminOnly } from '../errors.ts';
import { cacheWishOf } from '../caching/cache-control.ts';
import { withDeadline } from '../../front/deadline.ts';
import { HANDOVER_PATH } from '../resume/replica-seal.ts';
import { type LocalRequest, requireLocal } from './local-request.ts';

/** Probes and scrapers have no key, and the documentation and the page are public. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  '/',
  '/health',
  '/ping',
  '/ready',
  '/livez',
  '/readyz',
  '/version',
  '/api/version',
  '/metrics',
  '/models',
  '/v2',
  '/v2/health/live',
  '/v2/health/ready',
  '/openapi.json',
  '/docs',
  // Replicas show what they have sealed.
  HANDOVER_PATH,
]);

/** Guards every path but the probes' and the scraper's. */
export function auth({ keys }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    if (!isOpenPath(c.req.path)) {
      const key = keys.identify(c.env.incoming.headers);
      if (key !== null) c.set('client', key.client);
    }
    await next();
  };
}

/** Below `/ui` are the files of the page alone. */
function isOpenPath(path: string): boolean {
  return OPEN_PATHS.has(path) || path.startsWith('/ui/');
}

/** Guards routes that are open to all unless there is an admin key. */
export function requireAdminKey({ keys }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    keys.requireAdmin(c.env.incoming.headers);
    await next();
  };
}

/** Guards routes that change the server for everybody. */
export function requireAdmin(context: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    checkAdmin(context, c.env.incoming);
    await next();
  };
}

/**
 * Lets only the operator pass, over HTTP and gRPC: with the admin key or, if there is no key at all,
 * from this machine.
 * @throws ApiError 401, 403
 */
export function checkAdmin(
  { keys, config }: Pick<ServerContext, 'keys' | 'config'>,
  request: LocalRequest,
): void {
  if (keys.isUnguarded) requireLocal(request, config);
  else if (keys.hasAdmin) keys.requireAdmin(request.headers);
  else
    throw adminOnly('This needs an admin API key, and the server has none; see --admin-api-key.');
}

/** Caller that sent the request of `c`; to be called once, since the request's time begins here. */
export function callerOf({ config }: Pick<ServerContext, 'config'>, c: Context<ServerEnv>): Caller {
  const signal = withDeadline(c.req.raw.signal, config.requestTimeoutMs);
  const meter = c.get('meter');
  return {
    client: c.get('client') ?? '',
    requestId: c.get('requestId'),
    record: c.get('record'),
    signal,
    cache: cacheWishOf(c),
    ...(meter === undefined ? {} : { meter }),
  };
}
