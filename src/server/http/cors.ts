/** Which web pages may use this server. */
import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { ServerConfig } from '../context.ts';
import { originRefused } from '../errors.ts';
import { CACHE_HEADERS } from '../caching/cache-control.ts';
import { RATE_HEADERS } from '../rates/rate-headers.ts';

const ANY_ORIGIN = '*';

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
