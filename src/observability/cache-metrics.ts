/** Metrics of caches of answers, and of the Redis that replicas share. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheCounts } from '../front/response-cache/cache-counter.ts';

export interface ObservedCaches {
  /** By what is kept in them: `generation`, `tensors`, whose memory counts with those, `embedding`. */
  readonly caches: ReadonlyMap<string, { readonly counts: CacheCounts }>;
  /** Null without Redis. */
  readonly redis: { readonly isUp: boolean; readonly numErrors: number } | null;
}

const COUNTERS: readonly (readonly [
  name: string,
  help: string,
  count: (counts: CacheCounts) => number,
])[] = [
  ['misses', 'Answers that were computed and not there.', ({ misses }) => misses],
  [
    'shared',
    'Requests that were answered by the run of an equal one at the same time.',
    ({ shared }) => shared,
  ],
  ['bypasses', 'Requests that were neither looked up nor kept.', ({ bypasses }) => bypasses],
  ['evictions', 'Answers dropped for want of memory.', ({ evictions }) => evictions],
  ['errors', 'Failures of the second level, Redis.', ({ errors }) => errors],
];

const GAUGES: readonly (readonly [
  name: string,
  help: string,
  level: (counts: CacheCounts) => number,
])[] = [
  ['entries', 'Answers in memory.', ({ entries }) => entries],
  ['bytes', 'Bytes of the answers in memory.', ({ bytes }) => bytes],
];

/** Metrics that are read from the caches whenever somebody asks. */
export function registerCacheMetrics(registry: Registry, { caches, redis }: ObservedCaches): void {
  const registers = [registry];
  if (caches.size > 0) {
    const hits: Counter<'kind' | 'level'> = new Counter({
      name: 'chairlift_response_cache_hits_total',
      help: 'Answers found, by what was asked for, and in memory or in Redis.',
      labelNames: ['kind', 'level'],
      registers,
      collect() {
        hits.reset();
        for (const [kind, { counts }] of caches) {
          for (const [level, count] of Object.entries(counts.hits))
            hits.inc({ kind, level }, count);
        }
      },
    });
    for (const [name, help, count] of COUNTERS) {
      const counter: Counter<'kind'> = new Counter({
        name: `chairlift_response_cache_${name}_total`,
        help,
        labelNames: ['kind'],
        registers,
        collect() {
          counter.reset();
          for (const [kind, { counts }] of caches) counter.inc({ kind }, count(counts));
        },
      });
    }
    for (const [name, help, level] of GAUGES) {
      const gauge: Gauge<'kind'> = new Gauge({
        name: `chairlift_response_cache_${name}`,
        help,
        labelNames: ['kind'],
        registers,
        collect() {
          for (const [kind, { counts }] of caches) gauge.set({ kind }, level(counts));
        },
      });
    }
  }
  if (redis === null) return;
  const up: Gauge = new Gauge({
    name: 'chairlift_redis_up',
    help: '1 while Redis answers; else everything goes on without it.',
    registers,
    collect: () => up.set(redis.isUp ? 1 : 0),
  });
  const errors: Counter = new Counter({
    name: 'chairlift_redis_errors_total',
    help: 'Commands that Redis failed, or did not answer in time.',
    registers,
    collect() {
      errors.reset();
      errors.inc(redis.numErrors);
    },
  });
}
