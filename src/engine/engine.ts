import type { CostModel } from './cost-model.ts';
import type { Decoder } from './decoder.ts';
import type { KvCache } from './kv-cache.ts';
import type { EngineRequest, EngineStats, TokenOutput } from './messages.ts';
import type { Sampler } from './sampler.ts';
import type { Scheduler } from './scheduler.ts';
import { Sequence } from './sequence.ts';

export interface EngineParts {
  readonly scheduler: Scheduler;
  readonly kvCache: KvCache;
  readonly decoder: Decoder;
  readonly sampler: Sampler;
  readonly costs: CostModel;
}

/** The continuous batch: sequences get on and off at every step. */
export class Engine {
  readonly #scheduler: Scheduler;
  readonly #kvCache: KvCache;
  readonly #decoder: Decoder;
  readonly #sampler: Sampler;
  readonly #costs: CostModel;
  #numSteps = 0;

  constructor({ scheduler, kvCache, decoder, sampler, costs }: EngineParts) {
    this.#scheduler = scheduler;
    this.#kvCache = kvCache;
    this.#decoder = decoder;
    this.#sampler = sampler;
    this.#costs = costs;
  }

  /** @throws RangeError when the request is empty or could never fit a row */
  add(request: EngineRequest): void {
    const { promptTokenIds, maxTokens } = request;
    if (promptTokenIds.length === 0) throw new RangeError('the prompt is empty');
    if (promptTokenIds.length + maxTokens > this.#kvCache.maxTokens) {
      throw new RangeError(
        `${promptTokenIds.length} prompt tokens and ${maxTokens} more do not fit the KV cache: ` +
          `a sequence has ${this.#kvCache.maxTokens} positions at most`,
      );
    }
    this.#scheduler.add(new Sequence(request));
  }

  abort(id: number): void {
    this.#scheduler.abort(id);
  }

  get hasWork(): boolean {
    return this.#scheduler.hasWork;
  }

  /** One iteration; returns the tokens it made, in no particular order. */
  step(): TokenOutput[] {
    const plan = this.#scheduler.plan();
    if (!plan) return [];
    const { rows, failures, timings } = this.#decoder.execute(plan);
    this.#costs.observe(plan, timings);
    const { sampled, failures: unsampled } = this.#sampler.sample(rows);
    this.#numSteps += 1;
    return this.#scheduler.commit(plan, sampled, [...failures, ...unsampled]);
  }

  get stats(): EngineStats {
    return {
      numRunning: this.#scheduler.running.length,
      numWaiting: this.#scheduler.waiting.length,
      kvCacheUsage: this.#kvCache.usage,
      numSteps: this.#numSteps,
      ...this.#scheduler.counters,
    };
  }
}
