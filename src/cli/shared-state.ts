/** What requests leave for later ones, by flags: answers, vectors, and the Redis that replicas share. */
import type { Logger } from 'pino';
import { EmbeddingCache } from '../front/response-cache/embedding-cache.ts';
import { GenerationCache } from '../front/response-cache/generation-cache.ts';
import { TwoLevelCache } from '../front/response-cache/two-level-cache.ts';
import { LIMITS } from '../limits.ts';
import { RedisAnswers } from '../net/redis-answers.ts';
import type { RedisLink } from '../net/redis-link.ts';
import { registerCacheMetrics } from '../observability/cache-metrics.ts';
import type { MetricsHub } from '../observability/metrics-hub.ts';
import { registerUsageMetrics } from '../server/rates/usage-metrics.ts';
import { Usage } from '../server/rates/usage.ts';
import type { Options } from './options.ts';

export interface SharedState {
  /** Null keeps no answers. */
  readonly answers: GenerationCache | null;
  /** Null keeps no vectors. */
  readonly embeddings: EmbeddingCache | null;
  /** What each client has had computed. */
  readonly usage: Usage;
  /** Null where this server is alone. */
  readonly redis: RedisLink | null;
}

type SharedStateOptions = Options<
  'responseCache' | 'embeddingCache' | 'responseCacheTtl' | 'redis'
>;

export async function openSharedState(
  { responseCache, embeddingCache, responseCacheTtl, redis: url }: SharedStateOptions,
  metrics: MetricsHub,
  logger: Logger,
): Promise<SharedState> {
  // Engine processes inherit the environment, and have no use for a password.
  delete process.env['CHAIRLIFT_REDIS'];
  const redis = url === undefined ? null : await openRedis(url, logger);
  const second = redis && new RedisAnswers(redis);
  const storeOf = (maxBytes: number) =>
    new TwoLevelCache({
      maxBytes,
      maxEntryBytes: LIMITS.cachedAnswerBytes,
      ttlMs: responseCacheTtl * 1000,
      second,
    });
  const answers = responseCache === 0 ? null : new GenerationCache(storeOf(responseCache));
  const embeddings = embeddingCache === 0 ? null : new EmbeddingCache(storeOf(embeddingCache));
  const caches = new Map<string, GenerationCache | EmbeddingCache>();
  if (answers) caches.set('generation', answers);
  if (embeddings) caches.set('embedding', embeddings);
  const usage = new Usage();
  metrics.extend((registry) => registerUsageMetrics(registry, usage));
  metrics.extend((registry) => registerCacheMetrics(registry, { caches, redis }));
  return { answers, embeddings, usage, redis };
}

async function openRedis(url: string, logger: Logger): Promise<RedisLink> {
  // Its client is loaded where it is used alone.
  const { RedisLink: Link } = await import('../net/redis-link.ts');
  // Its URL may hold a password.
  const { host } = new URL(url);
  return new Link(url, {
    onChange(isUp, reason) {
      if (isUp) logger.info({ redis: host }, 'Redis is there');
      else logger.warn({ redis: host, reason }, 'Redis is gone; going on without it');
    },
  });
}
