import type { MetricsHub } from '../observability/metrics-hub.ts';
import type { ApiKeys } from '../server/auth/api-keys.ts';
import { RateLimits } from '../server/rates/rate-limits.ts';
import type { Options } from './options.ts';

/** What clients may ask for in a minute, by flags and by their keys. */
export function openRates(
  { rateLimitRequests, rateLimitTokens }: Options<'rateLimitRequests' | 'rateLimitTokens'>,
  keys: ApiKeys,
  metrics: MetricsHub,
): RateLimits {
  return new RateLimits({
    rates: { requests: rateLimitRequests ?? null, tokens: rateLimitTokens ?? null },
    ownRates: (client) => keys.ratesOf(client),
    onRefusal: (unit) => metrics.countRateLimited(unit),
  });
}
