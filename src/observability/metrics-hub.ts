import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { StageSpan } from '../front/request-record.ts';
import type { RegistryEvent } from '../front/registry/residency.ts';
import type { ModelInfo } from '../front/registry/model-entry.ts';
import type { ModelState } from '../front/registry/model-state.ts';
import { aliased, type Aliases, NO_ALIASES } from './aliases.ts';
import { mergeFamilies, toPage } from './families.ts';
import { Metrics, type ModelRates } from './metrics.ts';
import { Activity } from './recent/activity.ts';
import type { ObservedState } from './state-metrics.ts';

const STATES: readonly ModelState[] = [
  'unloaded',
  'downloading',
  'building',
  'loading',
  'ready',
  'draining',
  'failed',
];
/** A page is handed out up to this age, and renewed from a third of it on. */
const DEFAULT_MAX_AGE_MS = 600;
const FRESH_SHARE = 3;
/** To ask the process takes longer than the page of a model. */
const PROCESS_MAX_AGE_MS = 2000;
/** In seconds: detokenizing takes microseconds, a queue minutes. */
const STAGE_BUCKETS = [
  0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000,
];
/** In seconds. */
const LOAD_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The metrics of a server: those of each model that has been loaded, and those of the process. */
export class MetricsHub {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** Recent activity, for those who look without Prometheus. */
  readonly activity = new Activity();
  readonly #own = new Registry();
  readonly #process: () => Promise<string>;
  readonly #models = new Map<string, Metrics>();
  readonly #others: Registry[] = [];
  readonly #loadSeconds: Histogram<'model_name'>;
  readonly #stages: Histogram<'model_name' | 'stage'>;
  readonly #evictions: Counter<'model_name'>;
  readonly #httpRequests: Counter<'method' | 'route' | 'status'>;
  readonly #grpcCalls: Counter<'method' | 'code'>;
  readonly #cut: Counter<'reason'>;
  readonly #uncaught: Counter;
  readonly #rateLimited: Counter<'unit'>;
  readonly #aliases: Aliases;
  readonly #maxAgeMs: number;
  #page = '';
  /** Time of `performance.now()`. */
  #madeAt = -Infinity;
  #renewal: Promise<void> | null = null;

  constructor(options: {
    /** Watch the process too: CPU, memory, event loop, garbage collection. */
    readonly withProcess: boolean;
    readonly models: () => readonly ModelInfo[];
    /** Milliseconds that a page may be old; 0 has each scrape make its own. */
    readonly maxAgeMs?: number;
    /** Further names for the metrics. */
    readonly aliases?: Aliases;
  }) {
    const registers = [this.#own];
    this.#aliases = options.aliases ?? NO_ALIASES;
    this.#maxAgeMs = options.maxAgeMs ?? DEFAULT_MAX_AGE_MS;
    this.#process = options.withProcess ? processPage() : async () => '';
    const byState: Gauge<'state'> = new Gauge({
      name: 'chairlift_models',
      help: 'Versions of models, by state.',
      labelNames: ['state'],
      registers,
      collect() {
        const models = options.models();
        for (const state of STATES) {
          byState.set({ state }, models.filter((model) => model.state === state).length);
        }
      },
    });
    this.#loadSeconds = new Histogram({
      name: 'chairlift_model_load_seconds',
      help: 'From the wish for a model until it was ready.',
      labelNames: ['model_name'],
      buckets: LOAD_BUCKETS,
      registers,
    });
    this.#stages = new Histogram({
      name: 'chairlift_request_stage_seconds',
      help: 'Of requests for models: how long each stage of their way took.',
      labelNames: ['model_name', 'stage'],
      buckets: STAGE_BUCKETS,
      registers,
    });
    this.#evictions = new Counter({
      name: 'chairlift_model_evictions_total',
      help: 'Times that a model made way for another.',
      labelNames: ['model_name'],
      registers,
    });
    this.#rateLimited = new Counter({
      name: 'chairlift_rate_limited_total',
      help: 'Requests refused because their client had used up its requests or tokens per minute.',
      labelNames: ['unit'],
      registers,
    });
    this.#httpRequests = new Counter({
      name: 'chairlift_http_requests_total',
      help: 'HTTP requests answered.',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#grpcCalls = new Counter({
      name: 'chairlift_grpc_calls_total',
      help: 'gRPC calls that have ended.',
      labelNames: ['method', 'code'],
      registers,
    });
    this.#cut = new Counter({
      name: 'chairlift_answers_cut_total',
      help: 'Answers cut because they were not read: with their client beyond its `share` of memory, or `stalled`.',
      labelNames: ['reason'],
      registers,
    });
    this.#uncaught = new Counter({
      name: 'chairlift_uncaught_errors_total',
      help: 'Errors that nothing caught. The log has them.',
      registers,
    });
  }

  /** Those of a model; they go on when it is loaded again. */
  of(modelName: string, state: ObservedState): Metrics {
    const known = this.#models.get(modelName);
    if (known !== undefined) {
      known.watch(state);
      return known;
    }
    const metrics = new Metrics({ modelName, activity: this.activity, ...state });
    this.#models.set(modelName, metrics);
    return metrics;
  }

  /** Rates of the last seconds; null for a model that has none. */
  ratesOf(modelName: string): ModelRates | null {
    return this.#models.get(modelName)?.rates ?? null;
  }

  /** Further metrics of the server. */
  add(registry: Registry): void {
    this.#others.push(registry);
  }

  /** For the registry's `onEvent`. */
  observe(event: RegistryEvent): void {
    const labels = { model_name: event.model.name };
    if (event.type === 'loaded') this.#loadSeconds.observe(labels, event.seconds);
    if (event.type === 'unloaded' && event.wasEvicted) this.#evictions.inc(labels);
  }

  /** @param spans of a request for a model */
  observeStages(modelName: string, spans: readonly StageSpan[]): void {
    for (const { stage, ms } of spans) {
      this.#stages.observe({ model_name: modelName, stage }, ms / 1000);
      this.activity.took(stage, ms);
    }
  }

  /** Adds metrics of other parts of the server. */
  extend(register: (registry: Registry) => void): void {
    register(this.#own);
  }

  countRateLimited(unit: 'requests' | 'tokens'): void {
    this.#rateLimited.inc({ unit });
  }

  /** @param route its pattern, such as `/v1/models/:id`: the number of patterns is bounded */
  countRequest(method: string, route: string, status: number): void {
    this.#httpRequests.inc({ method, route, status: `${status}` });
  }

  /** @param method such as `/inference.GRPCInferenceService/ModelInfer` @param code its name, such as `OK` */
  countCall(method: string, code: string): void {
    this.#grpcCalls.inc({ method, code });
  }

  countCut(reason: 'share' | 'stalled'): void {
    this.#cut.inc({ reason });
  }

  countUncaught(): void {
    this.#uncaught.inc();
  }

  /**
   * In Prometheus' text format. Endpoint pickers scrape 20 times a second and more: they get a page
   * that is there already, and the next one is made meanwhile.
   */
  async text(): Promise<string> {
    const ageMs = performance.now() - this.#madeAt;
    if (ageMs >= this.#maxAgeMs) await this.#renew();
    // An error reaches the first scrape that has to wait.
    else if (ageMs > this.#maxAgeMs / FRESH_SHARE) this.#renew().catch(() => {});
    return this.#page;
  }

  /** Scrapes at once share a page. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#make().finally(() => (this.#renewal = null));
    return this.#renewal;
  }

  async #make(): Promise<void> {
    const madeAt = performance.now();
    this.#page = await this.#render();
    this.#madeAt = madeAt;
  }

  async #render(): Promise<string> {
    const pages = [await this.#process()];
    for (const registry of [this.#own, ...this.#others, ...this.#registries()]) {
      // Rendering takes milliseconds with many models: the scrape that has a page, and other work, go
      // first.
      await setImmediate();
      pages.push(await registry.metrics());
    }
    const families = mergeFamilies(pages);
    return toPage([...families, ...aliased(families, this.#aliases)]);
  }

  #registries(): Registry[] {
    return Array.from(this.#models.values(), ({ registry }) => registry);
  }
}

/** Page of the process's metrics: CPU, memory, event loop, garbage collection. */
function processPage(): () => Promise<string> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  let page = '';
  let madeAt = -Infinity;
  return async () => {
    if (performance.now() - madeAt < PROCESS_MAX_AGE_MS) return page;
    page = await registry.metrics();
    madeAt = performance.now();
    return page;
  };
}
