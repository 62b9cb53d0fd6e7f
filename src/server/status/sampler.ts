/** Looks at the server every few seconds, for those who want to see how the last hour was. */
import { requestLoad } from '../../front/queue/request-load.ts';
import { type Activity, LATENCIES, type LatencyName } from '../../observability/recent/activity.ts';
import { History } from '../../observability/recent/history.ts';
import type { LatencyHistogram } from '../../observability/recent/latency-histogram.ts';
import type { ServerContext } from '../context.ts';
import { HISTORY_MS, type LastHour, SAMPLE_MS, SERIES } from './last-hour.ts';
import { ProcessWatch, type ServerUse } from './process-use.ts';

/** Counts that only grow, but for those of models that go. */
interface Counts {
  readonly requests: number;
  readonly failures: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly prefixQueries: number;
  readonly prefixHits: number;
  readonly answerQueries: number;
  readonly answerHits: number;
}

type Sampled = Pick<ServerContext, 'models' | 'answers' | 'troubles'> & {
  readonly metrics: { readonly activity: Activity };
};

export class StatusSampler implements LastHour {
  readonly history = new History(SERIES, HISTORY_MS / SAMPLE_MS);
  readonly #server: Sampled;
  readonly #processes: ProcessWatch;
  /** By model. */
  readonly #crashes = new Map<string, number>();
  #before: Counts;
  #sampledAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Sampled) {
    this.#server = server;
    this.#processes = new ProcessWatch(() => pidsOf(server));
    this.#before = countsOf(server);
  }

  /** Use of the processes, as of the last sample. */
  get use(): ServerUse {
    return this.#processes.use;
  }

  start(): this {
    this.#timer = setInterval(() => void this.sample(), SAMPLE_MS).unref();
    return this;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Never rejects. */
  async sample(): Promise<void> {
    await this.#processes.look();
    const now = performance.now();
    const seconds = Math.max(0.001, (now - this.#sampledAt) / 1000);
    const counts = countsOf(this.#server);
    const more = growthOf(this.#before, counts);
    const ended = this.#endTurn();
    const { front, engines } = this.#processes.use;
    this.history.add(Date.now(), {
      ...levelsOf(this.#server),
      requests_per_second: more.requests / seconds,
      failures_per_second: more.failures / seconds,
      prompt_tokens_per_second: more.promptTokens / seconds,
      generated_tokens_per_second: more.generatedTokens / seconds,
      ttft_p50_ms: ended('ttft').quantile(0.5),
      ttft_p95_ms: ended('ttft').quantile(0.95),
      itl_p50_ms: ended('itl').quantile(0.5),
      itl_p95_ms: ended('itl').quantile(0.95),
      // Not a number if there were no queries.
      prefix_cache_hit_rate: more.prefixHits / more.prefixQueries,
      response_cache_hit_rate: more.answerHits / more.answerQueries,
      engine_crashes: this.#noteCrashes(),
      cpus: front.cpus + (engines?.cpus ?? 0),
      rss_bytes: front.rssBytes + (engines?.rssBytes ?? 0),
    });
    this.#before = counts;
    this.#sampledAt = now;
  }

  #endTurn(): (name: LatencyName) => LatencyHistogram {
    const { activity } = this.#server.metrics;
    const ended = new Map(LATENCIES.map((name) => [name, activity.of(name).turn()]));
    return (name) => ended.get(name) ?? activity.of(name).turn();
  }

  /** @returns how many there were since the sample before */
  #noteCrashes(): number {
    let sum = 0;
    for (const { definition, runtime } of this.#server.models.loaded()) {
      if (runtime.kind !== 'text') continue;
      const model = `${definition.name}@${definition.version}`;
      const { numCrashes } = runtime.engine;
      const num = Math.max(0, numCrashes - (this.#crashes.get(model) ?? 0));
      this.#crashes.set(model, numCrashes);
      sum += num;
      const trouble = { status: null, code: null, model: definition.name, client: null };
      for (let index = 0; index < num; index++) {
        this.#server.troubles.failed({ what: 'engine crash', ...trouble });
      }
    }
    return sum;
  }
}

function pidsOf({ models }: Sampled): number[] {
  const pids = models.loaded().flatMap(({ runtime }) => runtime.pids?.() ?? []);
  return pids.filter((pid) => pid !== undefined);
}

/**
 * Levels of all models that generate text: the sums of their requests, and the KV cache that is
 * fullest.
 */
function levelsOf({ models }: Sampled) {
  const levels = { requests_running: 0, requests_waiting: 0, kv_cache_usage: 0 };
  for (const { runtime } of models.loaded()) {
    if (runtime.kind !== 'text') continue;
    const load = requestLoad(runtime.engine, runtime.admission);
    levels.requests_running += load.running;
    levels.requests_waiting += load.waiting;
    levels.kv_cache_usage = Math.max(levels.kv_cache_usage, runtime.engine.stats.kvCacheUsage);
  }
  return levels;
}

function countsOf({ models, answers, troubles, metrics: { activity } }: Sampled): Counts {
  const engines = models
    .loaded()
    .flatMap(({ runtime }) => (runtime.kind === 'text' ? [runtime.engine.stats] : []));
  const answered = answers?.counts;
  const answerHits = answered ? answered.hits.memory + answered.hits.redis + answered.shared : 0;
  return {
    requests: activity.requests,
    failures: troubles.numFailures,
    promptTokens: activity.promptTokens,
    generatedTokens: activity.generatedTokens,
    prefixQueries: engines.reduce((sum, stats) => sum + stats.prefixCacheQueries, 0),
    prefixHits: engines.reduce((sum, stats) => sum + stats.prefixCacheHits, 0),
    answerQueries: answerHits + (answered?.misses ?? 0),
    answerHits,
  };
}

/** An engine that begins anew begins at 0, and takes with it what it had counted. */
function growthOf(before: Counts, after: Counts): Counts {
  const growth = (name: keyof Counts) => Math.max(0, after[name] - before[name]);
  return {
    requests: growth('requests'),
    failures: growth('failures'),
    promptTokens: growth('promptTokens'),
    generatedTokens: growth('generatedTokens'),
    prefixQueries: growth('prefixQueries'),
    prefixHits: growth('prefixHits'),
    answerQueries: growth('answerQueries'),
    answerHits: growth('answerHits'),
  };
}
