import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RegistryEvent } from '../front/registry/residency.ts';
import type { ModelInfo, ModelState } from '../front/registry/model-entry.ts';
import { aliased, type Aliases, NO_ALIASES } from './aliases.ts';
import { mergeFamilies, toPage } from './families.ts';
import { Metrics } from './metrics.ts';
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
/** In seconds. */
const LOAD_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The metrics of a server: those of each model that has been loaded, and those of the process. */
export class MetricsHub {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #own = new Registry();
  readonly #models = new Map<string, Metrics>();
  readonly #loadSeconds: Histogram<'model_name'>;
  readonly #evictions: Counter<'model_name'>;
  readonly #httpRequests: Counter<'method' | 'route' | 'status'>;
  readonly #rateLimited: Counter<'unit'>;
  readonly #aliases: Aliases;

  constructor(options: {
    /** Watch the process too: CPU, memory, event loop, garbage collection. */
    readonly withProcess: boolean;
    readonly models: () => readonly ModelInfo[];
    /** Further names for the metrics. */
    readonly aliases?: Aliases;
  }) {
    const registers = [this.#own];
    this.#aliases = options.aliases ?? NO_ALIASES;
    if (options.withProcess) collectDefaultMetrics({ register: this.#own });
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
  }

  /** Those of a model; they go on when it is loaded again. */
  of(modelName: string, state: ObservedState): Metrics {
    const known = this.#models.get(modelName);
    if (known !== undefined) {
      known.watch(state);
      return known;
    }
    const metrics = new Metrics({ modelName, ...state });
    this.#models.set(modelName, metrics);
    return metrics;
  }

  /** For the registry's `onEvent`. */
  observe(event: RegistryEvent): void {
    const labels = { model_name: event.model.name };
    if (event.type === 'loaded') this.#loadSeconds.observe(labels, event.seconds);
    if (event.type === 'unloaded' && event.wasEvicted) this.#evictions.inc(labels);
  }

  countRateLimited(unit: 'requests' | 'tokens'): void {
    this.#rateLimited.inc({ unit });
  }

  /** @param route its pattern, such as `/v1/models/:id`: there are only so many */
  countRequest(method: string, route: string, status: number): void {
    this.#httpRequests.inc({ method, route, status: `${status}` });
  }

  /** In Prometheus' text format. */
  async text(): Promise<string> {
    const pages: string[] = [];
    for (const registry of [this.#own, ...this.#registries()]) {
      pages.push(await registry.metrics());
      // Of many models it takes milliseconds: other work goes on in between.
      await setImmediate();
    }
    const families = mergeFamilies(pages);
    return toPage([...families, ...aliased(families, this.#aliases)]);
  }

  #registries(): Registry[] {
    return Array.from(this.#models.values(), ({ registry }) => registry);
  }
}
