/** `Cache-Control` of requests, and what answers say about the cache. */
import type { Context } from 'hono';
import type { CacheOutcome, CacheWish } from '../../front/caller.ts';
import type { ServerEnv } from '../context.ts';

export const CACHE_HEADERS: readonly string[] = ['age', 'x-chairlift-cache'];

/** Cache directives of a request; the answer's headers report the outcome. */
export function cacheWishOf(c: Context<ServerEnv>): CacheWish {
  return {
    ...parseCacheControl(c.req.header('cache-control') ?? ''),
    tell(outcome) {
      // A model that was slow to load: the stream has begun.
      if (c.finalized || c.env.outgoing.headersSent) return;
      for (const [name, value] of Object.entries(headersOf(outcome))) c.header(name, value);
    },
  };
}

/**
 * The directives of RFC 9111 that a request can have here; others are passed over. An age that
 * is named says that an earlier answer will do, also where each would be another one.
 */
export function parseCacheControl(header: string): CacheWish {
  const directives = new Map(
    header.split(',').map((part) => {
      const [name = '', value = ''] = part.trim().toLowerCase().split('=');
      return [name, value.replaceAll('"', '')];
    }),
  );
  const maxAgeMs = secondsOf(directives.get('max-age'));
  const mayFind = !directives.has('no-cache') && maxAgeMs !== 0;
  const onlyFound = directives.has('only-if-cached');
  return {
    mayFind,
    mayKeep: !directives.has('no-store'),
    onlyFound,
    maxAgeMs,
    isAsked: mayFind && (onlyFound || maxAgeMs !== null),
  };
}

export function headersOf(outcome: CacheOutcome): Readonly<Record<string, string>> {
  const status = { 'x-chairlift-cache': outcome.status };
  return outcome.status === 'hit'
    ? { ...status, age: `${Math.floor(outcome.ageMs / 1000)}` }
    : status;
}

/** In milliseconds; null for what is no number of seconds. */
function secondsOf(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : null;
}
