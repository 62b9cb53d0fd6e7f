import { SlotLayout } from '../../src/engine/cpu/slot-layout.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { savingBudget, wholePages } from '../../src/engine/windows/window-budget.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { BLOCK_SIZE } from '../../src/engine/kv-cache/prefix-index.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import type { SampledSegment, StepPlan } from '../../src/engine/step.ts';
import { StepTap } from '../../src/engine/tap/step-tap.ts';
import type { Random } from '../../src/bench/random.ts';
import type { TimedRun } from '../../src/engine/timed-run.ts';
import { copyMs, type Machine, timedRunsOf } from './machine.ts';
import { madeUpToken } from './made-up-tokens.ts';
import type { Policy } from './policy.ts';
import type { RecordedEngine, Recorder } from './recorder.ts';

/** Steps scatter about what they should take, in terms of it. */
const NOISE = 0.03;

export interface SimulatedStep {
  readonly outputs: readonly TokenOutput[];
  readonly durationMs: number;
}

/** A step before it is committed. */
interface MadeStep {
  readonly timedRuns: readonly TimedRun[];
  readonly sampled: readonly SampledSegment[];
  readonly durationMs: number;
}

/** The engine's own scheduler, cache and cost model; only the model's work is a sum. */
export class SimulatedEngine {
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #kvCache: SlotCache;
  readonly #costs = new CostModel();
  readonly #scheduler: Scheduler;
  readonly #layout: SlotLayout;
  readonly #priorityScale: number;
  /** Static batching: what the next batch is taken from; null with continuous batching. */
  readonly #held: Sequence[] | null;
  readonly #batchSize: number;
  /** Takes records; null where nobody does. */
  #record: ((plan: StepPlan, step: MadeStep) => void) | null = null;
  #tap: StepTap | null = null;
  #numSteps = 0;
  #numSampled = 0;
  #numComputed = 0;
  #maxResidentPages = 0;

  constructor(machine: Machine, policy: Policy, priorityScale: number, random: Random) {
    this.#machine = machine;
    this.#random = random;
    this.#priorityScale = priorityScale;
    this.#held = policy.batching === 'static' ? [] : null;
    this.#batchSize = machine.maxNumSeqs;
    const { maxNumSeqs, maxModelLen: capacity } = machine;
    const spareRows = policy.prefixCaching ? Math.round(policy.spareRows * maxNumSeqs) : 0;
    const numSlots = maxNumSeqs + spareRows;
    const budget = Math.floor((machine.kvCacheTokens * policy.kvCacheShare) / BLOCK_SIZE);
    const { prefixCaching } = policy;
    const stepTokens = policy.maxNumBatchedTokens ?? machine.maxNumBatchedTokens;
    const how = { pageLength: BLOCK_SIZE, capacity, stepTokens, prefixCaching };
    const windows = machine.windows ? savingBudget({ ...machine.windows, ...how }) : null;
    const pages = windows ?? wholePages(BLOCK_SIZE);
    this.#kvCache = new SlotCache({
      numSlots,
      capacity,
      maxPages: Math.min(budget, numSlots * pages.pagesOf(capacity)),
      prefixCaching,
      windows,
    });
    this.#layout = new SlotLayout({ slots: this.#kvCache, costs: this.#costs });
    this.#scheduler = new Scheduler(this.#kvCache, this.#costs, {
      maxNumSeqs,
      maxNumBatchedTokens: policy.maxNumBatchedTokens ?? machine.maxNumBatchedTokens,
      targetItlMs: policy.targetItlMs,
      prefillPolicy: policy.prefill,
    });
  }

  get hasWork(): boolean {
    return this.#scheduler.hasWork || (this.#held ?? []).length > 0;
  }

  /** Use of the KV cache, 0 to 1: running sequences alone. */
  get kvCacheUsage(): number {
    return this.#kvCache.usage;
  }

  get counters() {
    return {
      ...this.#scheduler.counters,
      numSteps: this.#numSteps,
      numSampled: this.#numSampled,
      numComputed: this.#numComputed,
      maxResidentPages: this.#maxResidentPages,
      maxPages: this.#kvCache.maxPages,
    };
  }

  /** @throws RangeError when the request could never run; the server refuses it too */
  add(request: EngineRequest): void {
    const length = request.promptTokenIds.length + request.maxTokens;
    if (length > this.#kvCache.maxTokens) {
      throw new RangeError(`${length} tokens do not fit the KV cache's ${this.#kvCache.maxTokens}`);
    }
    const priority = request.priority * this.#priorityScale;
    const sequence = new Sequence({ ...request, priority });
    if (this.#held) this.#held.push(sequence);
    else this.#scheduler.add(sequence);
  }

  abort(id: number): void {
    const held = this.#held?.findIndex((sequence) => sequence.id === id) ?? -1;
    if (held !== -1) this.#held?.splice(held, 1);
    this.#scheduler.abort(id);
  }

  /**
   * Has a recorder told of each step from now on.
   * @param nowMs the virtual clock
   * @returns tells it that the machine is gone
   */
  watch(
    recorder: Recorder,
    { instance, queue }: Pick<RecordedEngine, 'instance' | 'queue'>,
    nowMs: () => number,
  ): () => void {
    const [scheduler, kvCache] = [this.#scheduler, this.#kvCache];
    const { numSlots, maxPages } = kvCache;
    const engine = { instance, queue, numSlots, kvCacheTokens: maxPages * BLOCK_SIZE };
    const requestOf = (id: number) =>
      [...scheduler.running, ...scheduler.waiting].find((each) => each.id === id)?.request;
    // The clock stands still while a step is made.
    let elapsedMs = 0;
    const now = () => nowMs() + elapsedMs;
    const tap = new StepTap({ scheduler, kvCache, costs: this.#costs, now }, 1);
    this.#tap = tap;
    this.#record = (plan, { timedRuns, sampled, durationMs }) => {
      elapsedMs = durationMs;
      tap.observe(plan, { timedRuns, logits: [], failures: [] }, { sampled, failures: [] });
      elapsedMs = 0;
      const record = tap.take();
      if (record !== null) recorder.stepped(engine, record, requestOf);
    };
    recorder.became(engine, 'ready', nowMs());
    return () => recorder.became(engine, 'recovering', nowMs());
  }

  /** One iteration: the engine's own loop without a model. Null when there is nothing to do. */
  step(): SimulatedStep | null {
    this.#tap?.begin(this.#numSteps);
    if (this.#held && !this.#scheduler.hasWork) {
      for (const sequence of this.#held.splice(0, this.#batchSize)) this.#scheduler.add(sequence);
    }
    const plan = this.#scheduler.plan();
    if (!plan) return null;
    const { costs } = this.#machine;
    const runs = this.#layout.runsOf(plan.segments);
    const timedRuns = timedRunsOf(costs, runs).map((run) => ({
      ...run,
      ms: run.ms * this.#noise(),
    }));
    const durationMs = timedRuns.reduce(
      (sum, { ms }) => sum + ms,
      copyMs(costs, [...plan.cacheOperations, ...runs.cacheOperations]),
    );
    const sampled = sample(plan);
    this.#record?.(plan, { timedRuns, sampled, durationMs });
    for (const run of timedRuns) this.#costs.observe(run);
    const outputs = this.#scheduler.commit(plan, { sampled, failures: [] });
    this.#numSteps++;
    this.#numSampled += sampled.length;
    this.#numComputed += plan.segments.reduce((sum, { numTokens }) => sum + numTokens, 0);
    this.#maxResidentPages = Math.max(this.#maxResidentPages, this.#kvCache.numResidentPages);
    return { outputs, durationMs };
  }

  /** @throws Error when anything is left of requests that are all done */
  checkEmpty(): void {
    const { numActiveSlots, usage, numResidentPages, maxPages } = this.#kvCache;
    if (this.hasWork || numActiveSlots !== 0 || usage !== 0 || numResidentPages > maxPages) {
      throw new Error(
        `the engine is not empty: ${numActiveSlots} slots, usage ${usage}, ${numResidentPages} pages`,
      );
    }
  }

  #noise(): number {
    return 1 + NOISE * (2 * this.#random.uniform() - 1);
  }
}

/** Whoever's last token was computed gets the next one. */
function sample({ segments }: StepPlan): SampledSegment[] {
  return segments
    .filter(({ numLogits }) => numLogits > 0)
    .map((segment) => {
      const { id, numOutputTokens } = segment.sequence;
      return { segment, tokens: [{ tokenId: madeUpToken(id, numOutputTokens) }] };
    });
}
