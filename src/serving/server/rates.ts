import type { RedisLink } from '../../net/redis-link.ts';
import type { MetricsHub } from '../../observability/metrics-hub.ts';
import type { ApiKeys } from '../../server/auth/api-keys.ts';
import { RateLimits } from '../../server/rates/rate-limits.ts';
import { type Rates } from '../../server/auth/key-rates.ts';
import { redisLimiter } from '../../server/rates/redis-limiter.ts';
import type { Options } from '../../settings/options.ts';

/** Limits per minute for clients, from flags. */
export function ratesOf({
  rateLimitRequests,
  rateLimitTokens,
}: Options<'rateLimitRequests' | 'rateLimitTokens'>): Rates {
  return { requests: rateLimitRequests ?? null, tokens: rateLimitTokens ?? null };
}

/** @param rates of all; keys have their own in their place. They may change meanwhile. */
export function openRates(
  rates: Rates,
  keys: ApiKeys,
  metrics: MetricsHub,
  redis: RedisLink | null,
): RateLimits {
  return new RateLimits({
    rates,
    ownRates: (client) => keys.ratesOf(client),
    onRefusal: (unit) => metrics.countRateLimited(unit),
    ...(redis === null ? {} : { createLimiter: (limiter) => redisLimiter(redis, limiter) }),
  });
}
