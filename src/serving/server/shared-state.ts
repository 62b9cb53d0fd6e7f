/**
 * State that requests share, by flags: cached answers, cached vectors, and the Redis that replicas
 * share.
 */
import type { Logger } from 'pino';
import { EmbeddingCache } from '../../front/response-cache/embedding-cache.ts';
import { GenerationCache } from '../../front/response-cache/generation-cache.ts';
import { TensorCache } from '../../front/response-cache/tensor-cache.ts';
import { TwoLevelCache } from '../../front/response-cache/two-level-cache.ts';
import { LIMITS } from '../../limits.ts';
import { RedisAnswers } from '../../net/redis-answers.ts';
import type { RedisLink } from '../../net/redis-link.ts';
import { registerCacheMetrics } from '../../observability/cache-metrics.ts';
import type { MetricsHub } from '../../observability/metrics-hub.ts';
import { registerUsageMetrics } from '../../server/rates/usage-metrics.ts';
import { Usage } from '../../server/rates/usage.ts';
import type { Options } from '../../settings/options.ts';
import { readSecretFile } from '../../settings/secret-file.ts';
import { UsageError } from '../../settings/usage-error.ts';

export interface SharedState {
  /** Null keeps no answers. */
  readonly answers: GenerationCache | null;
  /** Answers of models without state; null keeps none. */
  readonly tensors: TensorCache | null;
  /** Null keeps no vectors. */
  readonly embeddings: EmbeddingCache | null;
  /** Usage of each client. */
  readonly usage: Usage;
  /** Null where this server is alone. */
  readonly redis: RedisLink | null;
}

type SharedStateOptions = Options<
  'responseCache' | 'embeddingCache' | 'responseCacheTtl' | 'redis' | 'redisPasswordFile'
>;

/** @throws UsageError */
export async function openSharedState(
  options: SharedStateOptions,
  metrics: MetricsHub,
  logger: Logger,
): Promise<SharedState> {
  const { responseCache, embeddingCache, responseCacheTtl } = options;
  const url = await redisUrl(options);
  const redis = url === undefined ? null : await openRedis(url, logger);
  const second = redis && new RedisAnswers(redis);
  const storeOf = (maxBytes: number) =>
    new TwoLevelCache({
      maxBytes,
      maxEntryBytes: LIMITS.cachedAnswerBytes,
      ttlMs: responseCacheTtl * 1000,
      second,
    });
  const answerStore = responseCache === 0 ? null : storeOf(responseCache);
  const answers = answerStore && new GenerationCache(answerStore);
  const tensors = answerStore && new TensorCache(answerStore);
  const embeddings = embeddingCache === 0 ? null : new EmbeddingCache(storeOf(embeddingCache));
  const caches = new Map<string, GenerationCache | TensorCache | EmbeddingCache>();
  if (answers) caches.set('generation', answers);
  if (tensors) caches.set('tensors', tensors);
  if (embeddings) caches.set('embedding', embeddings);
  const usage = new Usage();
  metrics.extend((registry) => registerUsageMetrics(registry, usage));
  metrics.extend((registry) => registerCacheMetrics(registry, { caches, redis }));
  return { answers, tensors, embeddings, usage, redis };
}

/** With the password of its file. @throws UsageError */
export async function redisUrl({
  redis,
  redisPasswordFile: file,
}: Options<'redis' | 'redisPasswordFile'>): Promise<string | undefined> {
  if (file === undefined) return redis;
  if (redis === undefined) throw new UsageError('--redis-password-file needs --redis');
  const url = new URL(redis);
  if (url.password !== '') throw new UsageError('--redis has a password: give one of them');
  url.password = encodeURIComponent(await readSecretFile('redis-password', file));
  return url.href;
}

async function openRedis(url: string, logger: Logger): Promise<RedisLink> {
  // Its client is loaded where it is used alone.
  const { RedisLink: Link } = await import('../../net/redis-link.ts');
  // Its URL may hold a password.
  const { host } = new URL(url);
  return new Link(url, {
    onChange(isUp, reason) {
      if (isUp) logger.info({ redis: host }, 'connected to Redis');
      else
        logger.warn({ redis: host, reason }, 'lost the connection to Redis; continuing without it');
    },
  });
}
