import type { GrammarSpec } from '../grammar/grammar-spec.ts';
import type { GrammarMatchers } from './constraints/grammar-matchers.ts';
import type { KvCache } from './kv-cache/kv-cache.ts';
import { requireEmbeddings } from './prompt-embeddings.ts';
import type { EngineRequest, TokenOutput } from './request.ts';
import type { Sampler } from './sampling/sampler.ts';
import type { CostModel } from './costs/cost-model.ts';
import type { Scheduler } from './scheduling/scheduler.ts';
import { Sequence } from './sequence.ts';
import { MAX_CONSTRAINED_DRAFTS, NO_DRAFTS } from './drafter.ts';
import { type SlotState, slotStates } from './slot-state.ts';
import type { Speculator } from './speculation/speculator.ts';
import type { LoopStats } from './stats.ts';
import type { Decoder } from './step.ts';
import type { StepRecord } from './tap/step-record.ts';
import { StepTap } from './tap/step-tap.ts';

export interface EngineParts {
  readonly scheduler: Scheduler;
  readonly kvCache: KvCache;
  readonly decoder: Decoder;
  /** Keeps to the grammars, if there are any. */
  readonly sampler: Sampler;
  readonly costs: CostModel;
  /** Null where no request can have a grammar. */
  readonly grammars?: GrammarMatchers | null;
  /** Null where the KV cache ends with the process. */
  readonly durable?: DurableSlots | null;
  /** The scheduler's, for what it counts. */
  readonly speculator?: Speculator | null;
  /** Width of embeddings in place of tokens; null or left out where prompts have none. */
  readonly embeddingWidth?: number | null;
}

/** Slots of a durable KV cache that an earlier process left. */
export interface DurableSlots {
  /** @returns the sequences that go on where they were, and the requests that can't */
  adopt(requests: readonly EngineRequest[]): {
    readonly sequences: readonly Sequence[];
    readonly others: readonly EngineRequest[];
  };
}

/** The continuous batch: at every step sequences may join and leave. */
export class Engine {
  readonly #parts: EngineParts;
  /** Null while nobody watches. */
  #tap: StepTap | null = null;
  #numSteps = 0;
  #stepTokens = 0;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /**
   * Has to be done before a request with this grammar is added.
   * @throws GrammarError when it can't be compiled
   */
  async compileGrammar(grammar: GrammarSpec): Promise<void> {
    const { grammars } = this.#parts;
    if (!grammars) throw new Error('this engine takes no grammars');
    await grammars.compile(grammar);
  }

  /** @throws RangeError when the request is empty, could never fit a slot, or has wrong embeddings */
  add(request: EngineRequest): void {
    const { kvCache, grammars, scheduler, embeddingWidth = null } = this.#parts;
    const { promptTokenIds, maxTokens } = request;
    if (promptTokenIds.length === 0) throw new RangeError('the prompt is empty');
    if (promptTokenIds.length + maxTokens > kvCache.maxTokens) {
      throw new RangeError(
        `${promptTokenIds.length} prompt tokens and ${maxTokens} more do not fit the KV cache: ` +
          `a sequence has ${kvCache.maxTokens} positions at most`,
      );
    }
    requireEmbeddings(request, embeddingWidth);
    const sequence = new Sequence(request);
    grammars?.open(sequence);
    scheduler.add(sequence);
  }

  /**
   * Takes up what an earlier process left in a durable KV cache. Has to come before any other request.
   * @returns the requests that it holds nothing of, to be added like new ones
   */
  adopt(requests: readonly EngineRequest[]): readonly EngineRequest[] {
    const { durable, scheduler } = this.#parts;
    if (!durable) return requests;
    const { sequences, others } = durable.adopt(requests);
    for (const sequence of sequences) scheduler.adopt(sequence);
    return others;
  }

  abort(id: number): void {
    this.#parts.scheduler.abort(id);
    this.#parts.grammars?.close(id);
  }

  get hasWork(): boolean {
    return this.#parts.scheduler.hasWork;
  }

  /** One iteration; returns the tokens it made, in no particular order. */
  step(): TokenOutput[] {
    const { scheduler, decoder, sampler, costs, grammars } = this.#parts;
    this.#tap?.begin(this.#numSteps);
    const plan = scheduler.plan();
    this.#stepTokens = plan?.segments.reduce((sum, { numTokens }) => sum + numTokens, 0) ?? 0;
    if (plan === null) return [];
    const result = decoder.execute(plan);
    const outcome = sampler.sample(result);
    this.#tap?.observe(plan, result, outcome);
    const outputs = scheduler.commit(plan, outcome);

    for (const run of result.timedRuns) costs.observe(run);
    // The grammars' threads go on while the next step runs.
    const areFew = scheduler.running.length <= MAX_CONSTRAINED_DRAFTS;
    grammars?.advance(outputs, areFew);
    this.#numSteps += 1;
    return outputs;
  }

  /** Makes records of steps from now on. @param every records one step of this many; null ends it */
  watch(every: number | null): void {
    this.#tap = every === null ? null : new StepTap(this.#parts, every);
  }

  /** The last step's record, once; null if it has none. */
  takeRecord(): StepRecord | null {
    return this.#tap?.take() ?? null;
  }

  get slots(): SlotState[] {
    return slotStates(this.#parts.kvCache, this.#parts.scheduler.running);
  }

  get stats(): LoopStats {
    const { scheduler, kvCache, speculator } = this.#parts;
    return {
      numRunning: scheduler.running.length,
      numWaiting: scheduler.waiting.length,
      kvCacheUsage: kvCache.usage,
      numSteps: this.#numSteps,
      stepTokens: this.#stepTokens,
      ...scheduler.counters,
      ...(speculator?.counters ?? NO_DRAFTS),
    };
  }
}
