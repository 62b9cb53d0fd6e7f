/** Which web pages may use this server. */
import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { ServerContext } from '../context.ts';
import type { ServerConfig } from '../config.ts';
import { originRefused } from '../errors.ts';
import { CACHE_HEADERS } from '../caching/cache-control.ts';
import { RATE_HEADERS } from './rate-headers.ts';

const ANY_ORIGIN = '*';

/** Origins that the log names. */
const MAX_NAMED_ORIGINS = 16;

/** Seconds for which a browser need not ask again: the most that browsers grant. */
const PREFLIGHT_SECONDS = 86_400;

/**
 * Answers preflights, which come without a key, and marks all answers as readable by the pages
 * that `config` names.
 */
export function allowOrigins({ corsOrigins }: ServerConfig): MiddlewareHandler {
  return cors({
    origin: corsOrigins.includes(ANY_ORIGIN) ? ANY_ORIGIN : [...corsOrigins],
    allowMethods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
    exposeHeaders: [
      'x-request-id',
      'retry-after',
      'server-timing',
      ...CACHE_HEADERS,
      ...RATE_HEADERS,
    ],
    maxAge: PREFLIGHT_SECONDS,
  });
}

/**
 * Refuses preflights of other pages, in words that say what to do: browsers show their users none, so
 * the log has them too, once for each origin.
 */
export function refuseOtherOrigins({
  config: { corsOrigins },
  logger,
}: Pick<ServerContext, 'config' | 'logger'>): MiddlewareHandler {
  const named = new Set<string>();
  return async (c, next) => {
    const origin = c.req.header('origin');
    const isPreflight =
      c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined;
    if (!isPreflight || origin === undefined) return next();
    if (corsOrigins.includes(origin) || corsOrigins.includes(ANY_ORIGIN)) return next();
    const refusal = originRefused(origin);
    if (!named.has(origin) && named.size < MAX_NAMED_ORIGINS) {
      named.add(origin);
      logger.warn(refusal.message);
    }
    throw refusal;
  };
}

/**
 * Browsers let every page open WebSockets to every server, also on the user's own machine. The
 * server has to check where the page is from. Clients other than browsers send no origin.
 * @throws ApiError 403 for a page of an origin that is neither this server's nor named.
 */
export function requireAllowedOrigin(
  { headers }: IncomingMessage,
  { corsOrigins }: ServerConfig,
): void {
  const { origin, host } = headers;
  if (origin === undefined || corsOrigins.includes(ANY_ORIGIN) || corsOrigins.includes(origin)) {
    return;
  }
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw originRefused(origin);
}
