/** API keys, compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import type { Caller } from '../front/caller.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { unauthorized } from './errors.ts';

/** Probes and scrapers come without a key, and what is documented is no secret. */
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

export type KeyCheck = (headers: IncomingHttpHeaders) => void;

/**
 * A check of `Authorization: Bearer KEY` or `X-Api-Key: KEY` that throws ApiError 401.
 * @param apiKeys the keys that pass; with none, everything passes.
 */
export function createKeyCheck(apiKeys: readonly string[]): KeyCheck {
  const digests = apiKeys.map(digestOf);
  return (headers) => {
    if (digests.length === 0) return;
    const key = presentedKey(headers);
    if (key === undefined) {
      throw unauthorized('No API key given; send `Authorization: Bearer KEY` or `X-Api-Key: KEY`.');
    }
    const presented = digestOf(key);
    let isKnown = false;
    // Every key is compared, so that the time taken tells nothing of which one is close.
    for (const digest of digests) {
      if (timingSafeEqual(digest, presented)) isKnown = true;
    }
    if (!isKnown) throw unauthorized('The API key is not valid.');
  };
}

/** Guards every path but the probes' and the scraper's. */
export function auth(context: ServerContext): MiddlewareHandler<ServerEnv> {
  const check = createKeyCheck(context.config.apiKeys);
  return async (c, next) => {
    if (!OPEN_PATHS.has(c.req.path)) check(c.env.incoming.headers);
    await next();
  };
}

/**
 * Names the client that a request comes from, for fair shares: by its key, if the server has keys;
 * else empty. The key itself is not kept.
 */
export function clientOf(context: ServerContext, headers: IncomingHttpHeaders): string {
  const key = presentedKey(headers);
  if (context.config.apiKeys.length === 0 || key === undefined) return '';
  return digestOf(key).toString('base64');
}

/** Who sent the request of `c`. */
export function callerOf(context: ServerContext, c: Context<ServerEnv>): Caller {
  return { client: clientOf(context, c.env.incoming.headers), signal: c.req.raw.signal };
}

function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  const header = headers['x-api-key'];
  return typeof header === 'string' && header !== '' ? header : undefined;
}

/** Equal lengths, as the constant-time comparison needs. */
function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
