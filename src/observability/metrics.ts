/** Prometheus metrics under vLLM's names, with `chairlift_` for `vllm:`. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type {
  GenerationObserver,
  GenerationOutcome,
} from '../front/generation/generation-observer.ts';
import type { GenerationRequest } from '../front/generation/generation.ts';
import type { Activity } from './recent/activity.ts';
import { RATE_SECONDS, SlidingRate } from './sliding-rate.ts';
import { type ObservedState, registerStateMetrics } from './state-metrics.ts';

/** In seconds; all of vLLM's buckets, with finer ones in front for small models. */
const TTFT_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20,
  40, 80, 160, 640, 2560,
];
const ITL_BUCKETS = [
  0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
  1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const REQUEST_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120,
  240, 480, 960, 1920, 7680,
];
/** In tokens. */
const STEP_BUCKETS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
const LENGTH_BUCKETS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000,
];

/** Every outcome of an admitted request, so that each has a series from the start. */
const FINISHED_REASONS = ['stop', 'length', 'abort', 'timeout', 'error'] as const;

export interface MetricsOptions extends ObservedState {
  /** The value of the label `model_name`. */
  readonly modelName: string;
  /** Activity of all models, which this one adds to. */
  readonly activity: Activity;
}

/** Rates of a model, per second. */
export interface ModelRates {
  readonly requests: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
}

/** One model's metrics, in a registry of their own. */
export class Metrics {
  readonly registry = new Registry();
  readonly #activity: Activity;
  #state: ObservedState;
  readonly #promptTokens: Counter;
  readonly #generationTokens: Counter;
  readonly #finished: Counter<'finished_reason'>;
  readonly #ttft: Histogram;
  readonly #itl: Histogram;
  readonly #e2e: Histogram;
  readonly #queueTime: Histogram;
  readonly #prefillTime: Histogram;
  readonly #decodeTime: Histogram;
  readonly #inferenceTime: Histogram;
  readonly #timePerToken: Histogram;
  readonly #stepTokens: Histogram;
  readonly #promptLength: Histogram;
  readonly #generationLength: Histogram;
  readonly #maxTokens: Histogram;
  readonly #requestRate: SlidingRate;
  readonly #promptRate: SlidingRate;
  readonly #generationRate: SlidingRate;
  #stopFollowing: () => void;

  constructor(options: MetricsOptions) {
    this.registry.setDefaultLabels({ model_name: options.modelName });
    this.#activity = options.activity;
    this.#state = options;
    registerStateMetrics(this.registry, () => this.#state);
    this.#promptTokens = this.#counter('prompt_tokens_total', 'Prompt tokens computed.');
    this.#generationTokens = this.#counter('generation_tokens_total', 'Tokens generated.');
    this.#finished = new Counter({
      name: 'chairlift_request_success_total',
      help: 'Requests that ended, by reason.',
      labelNames: ['finished_reason'],
      registers: [this.registry],
    });
    for (const reason of FINISHED_REASONS) this.#finished.inc({ finished_reason: reason }, 0);
    this.#ttft = this.#histogram(
      'time_to_first_token_seconds',
      'From arrival to the first token.',
      TTFT_BUCKETS,
    );
    this.#itl = this.#histogram(
      'inter_token_latency_seconds',
      'Between one token of a request and the next.',
      ITL_BUCKETS,
    );
    this.#e2e = this.#histogram(
      'e2e_request_latency_seconds',
      'From arrival to the last token.',
      REQUEST_BUCKETS,
    );
    this.#queueTime = this.#histogram(
      'request_queue_time_seconds',
      'From arrival to admission.',
      REQUEST_BUCKETS,
    );
    this.#prefillTime = this.#histogram(
      'request_prefill_time_seconds',
      'From admission to the first token.',
      REQUEST_BUCKETS,
    );
    this.#decodeTime = this.#histogram(
      'request_decode_time_seconds',
      'From the first token to the last.',
      REQUEST_BUCKETS,
    );
    this.#inferenceTime = this.#histogram(
      'request_inference_time_seconds',
      'From admission to the last token.',
      REQUEST_BUCKETS,
    );
    this.#timePerToken = this.#histogram(
      'request_time_per_output_token_seconds',
      'Mean time between the tokens of a request.',
      ITL_BUCKETS,
    );
    this.#stepTokens = this.#histogram(
      'iteration_tokens_total',
      'Tokens that a step of the engine computed.',
      STEP_BUCKETS,
    );
    this.#promptLength = this.#histogram(
      'request_prompt_tokens',
      'Prompt tokens of a request.',
      LENGTH_BUCKETS,
    );
    this.#generationLength = this.#histogram(
      'request_generation_tokens',
      'Tokens generated for a request.',
      LENGTH_BUCKETS,
    );
    this.#maxTokens = this.#histogram(
      'request_params_max_tokens',
      'Most tokens that a request could have generated.',
      LENGTH_BUCKETS,
    );
    this.#requestRate = this.#rate('requests_per_second', 'Requests that ended');
    this.#promptRate = this.#rate('prompt_tokens_per_second', 'Prompt tokens computed');
    this.#generationRate = this.#rate('generation_tokens_per_second', 'Tokens generated');
    this.#stopFollowing = this.#follow(options);
  }

  /** The model was loaded anew. */
  watch(state: ObservedState): void {
    this.#stopFollowing();
    this.#state = state;
    this.#stopFollowing = this.#follow(state);
  }

  get rates(): ModelRates {
    const now = performance.now();
    return {
      requests: this.#requestRate.perSecond(now),
      promptTokens: this.#promptRate.perSecond(now),
      generatedTokens: this.#generationRate.perSecond(now),
    };
  }

  #follow({ engine }: ObservedState): () => void {
    return engine.onStep(({ stepTokens }) => {
      if (stepTokens > 0) this.#stepTokens.observe(stepTokens);
    });
  }

  /** Follows one request; this is the text generator's `observe`. */
  observe(request: GenerationRequest): GenerationObserver {
    const activity = this.#activity;
    const numPromptTokens = request.promptTokenIds.length;
    let queuedAt = 0;
    let admittedAt = 0;
    let firstTokenAt = 0;
    let lastTokenAt: number | undefined;
    let numTokens = 0;
    return {
      queued: (timeMs) => {
        queuedAt = timeMs;
      },
      admitted: (timeMs) => {
        admittedAt = timeMs;
        this.#queueTime.observe((timeMs - queuedAt) / 1000);
      },
      tokens: (numNew, timeMs) => {
        this.#generationTokens.inc(numNew);
        this.#generationRate.add(numNew, timeMs);
        activity.generatedTokens += numNew;
        numTokens += numNew;
        const isFirst = lastTokenAt === undefined;
        if (isFirst) {
          firstTokenAt = timeMs;
          this.#promptTokens.inc(numPromptTokens);
          this.#promptRate.add(numPromptTokens, timeMs);
          this.#ttft.observe((timeMs - queuedAt) / 1000);
          activity.promptTokens += numPromptTokens;
          activity.took('ttft', timeMs - queuedAt);
        }
        // Tokens that arrived together share the time since the last.
        const numGaps = isFirst ? numNew - 1 : numNew;
        const seconds = (timeMs - (lastTokenAt ?? timeMs)) / 1000 / Math.max(1, numGaps);
        for (let index = 0; index < numGaps; index++) {
          this.#itl.observe(seconds);
          activity.took('itl', seconds * 1000);
        }
        lastTokenAt = timeMs;
      },
      finished: (outcome, timeMs) => {
        this.#count(outcome, timeMs);
        if (outcome !== 'stop' && outcome !== 'length') return;
        this.#e2e.observe((timeMs - queuedAt) / 1000);
        activity.took('e2e', timeMs - queuedAt);
        this.#promptLength.observe(numPromptTokens);
        this.#generationLength.observe(numTokens);
        this.#maxTokens.observe(request.maxTokens);
        if (lastTokenAt === undefined) return;
        this.#prefillTime.observe((firstTokenAt - admittedAt) / 1000);
        this.#decodeTime.observe((lastTokenAt - firstTokenAt) / 1000);
        this.#inferenceTime.observe((lastTokenAt - admittedAt) / 1000);
        if (numTokens < 2) return;
        this.#timePerToken.observe((lastTokenAt - firstTokenAt) / 1000 / (numTokens - 1));
      },
    };
  }

  #count(outcome: GenerationOutcome, timeMs: number): void {
    // Counted by the admission, which rejects most of them earlier.
    if (outcome === 'rejected') return;
    this.#finished.inc({ finished_reason: outcome });
    this.#requestRate.add(1, timeMs);
    this.#activity.requests++;
  }

  #rate(name: string, what: string): SlidingRate {
    const rate = new SlidingRate();
    const gauge: Gauge = new Gauge({
      name: `chairlift_${name}`,
      help: `${what} a second, over the last ${RATE_SECONDS} seconds.`,
      registers: [this.registry],
      collect: () => gauge.set(rate.perSecond(performance.now())),
    });
    return rate;
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name: `chairlift_${name}`, help, registers: [this.registry] });
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({
      name: `chairlift_${name}`,
      help,
      buckets,
      registers: [this.registry],
    });
  }
}
