import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisLink } from '../../net/redis-link.ts';
import type { LimiterOptions } from './rate-limits.ts';

/**
 * Milliseconds that Redis may take. Longer than for what is kept there: a count that is given up was
 * perhaps made all the same, and what is counted in memory instead lets too much through.
 */
const TIMEOUT_MS = 500;

/** A script that the library defines as a command. */
type Script = { readonly rlflxIncr: (args: readonly string[]) => Promise<unknown> };

/** In memory. What was taken in Redis and comes back while that is gone is no credit here. */
class Insurance extends RateLimiterMemory {
  override async reward(key: string, points = 1): Promise<RateLimiterRes> {
    const taken = (await this.get(key))?.consumedPoints ?? 0;
    return await super.reward(key, Math.min(points, Math.max(0, taken)));
  }
}

/**
 * Counts in Redis, for all replicas together. While Redis is gone or slow each counts for itself, in
 * memory, without waiting.
 */
export function redisLimiter(link: RedisLink, options: LimiterOptions): RateLimiterRedis {
  return new RateLimiterRedis({
    ...options,
    keyPrefix: `chairlift:rate:${options.keyPrefix}`,
    // Part of ioredis that the library uses, through the link's breaker.
    storeClient: {
      get status() {
        return link.isUp ? 'ready' : 'end';
      },
      defineCommand: (...of: Parameters<RedisLink['defineCommand']>) => link.defineCommand(...of),
      rlflxIncr: (args: readonly string[]) =>
        link.run((client) => (client as unknown as Script).rlflxIncr(args), TIMEOUT_MS),
    },
    rejectIfRedisNotReady: true,
    insuranceLimiter: new Insurance(options),
  });
}
