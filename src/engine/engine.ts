import type { GrammarSpec } from '../grammar/grammar-spec.ts';
import type { CostModel } from './scheduling/cost-model.ts';
import type { Decoder, VerifiedDraft } from './cpu/cpu-decoder.ts';
import type { KvCacheManager } from './kv-cache/kv-cache.ts';
import type { ConstrainedRows, GrammarMatchers } from './constraints/grammar-matchers.ts';
import type { KvJournal } from './cpu/kv-journal.ts';
import type { EngineRequest, TokenOutput } from './request.ts';
import type { EngineStats } from './stats.ts';
import type { LogitsRow, Sampler } from './sampling/sampler.ts';
import type { Scheduler } from './scheduling/scheduler.ts';
import { Sequence } from './sequence.ts';
import type { Speculator } from './speculation/speculator.ts';
import { MAX_CONSTRAINED_VERIFY_RUNS, type SampledToken } from './step.ts';

export interface EngineParts {
  readonly scheduler: Scheduler;
  readonly kvCache: KvCacheManager;
  readonly decoder: Decoder;
  readonly sampler: Sampler;
  readonly costs: CostModel;
  /** Null where no request can have a grammar. */
  readonly grammars?: GrammarMatchers | null;
  /** Of a KV cache that outlives the process. */
  readonly journal?: KvJournal | null;
  /** Without it every step gives a sequence one token at most. */
  readonly speculator?: Speculator | null;
}

const NO_DRAFTS = {
  numDrafts: 0,
  numDraftTokens: 0,
  numAcceptedTokens: 0,
  numForcedDraftTokens: 0,
  numForcedAcceptedTokens: 0,
};

/** The continuous batch: sequences get on and off at every step. */
export class Engine {
  readonly #scheduler: Scheduler;
  readonly #kvCache: KvCacheManager;
  readonly #decoder: Decoder;
  readonly #sampler: Sampler;
  readonly #costs: CostModel;
  readonly #grammars: GrammarMatchers | null;
  readonly #journal: KvJournal | null;
  readonly #speculator: Speculator | null;
  #numSteps = 0;

  constructor(parts: EngineParts) {
    this.#scheduler = parts.scheduler;
    this.#kvCache = parts.kvCache;
    this.#decoder = parts.decoder;
    this.#sampler = parts.sampler;
    this.#costs = parts.costs;
    this.#grammars = parts.grammars ?? null;
    this.#journal = parts.journal ?? null;
    this.#speculator = parts.speculator ?? null;
  }

  /**
   * Has to be done before a request with this grammar is added.
   * @throws GrammarError when it can't be compiled
   */
  async compileGrammar(grammar: GrammarSpec): Promise<void> {
    if (this.#grammars === null) throw new Error('this engine takes no grammars');
    await this.#grammars.compile(grammar);
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
    const sequence = new Sequence(request);
    this.#grammars?.open(sequence);
    this.#scheduler.add(sequence);
  }

  /**
   * Takes up rows of an earlier process's durable KV cache. Has to come before any other request.
   * @returns the requests that have no row there, to be added like new ones
   */
  adopt(requests: readonly EngineRequest[]): EngineRequest[] {
    const rows = this.#journal?.read() ?? new Map();
    const others: EngineRequest[] = [];
    for (const request of requests) {
      const held = rows.get(request.id);
      // A grammar's or a scored prompt's progress is not in the cache.
      if (!held || request.grammar !== null || request.promptLogprobs !== null) {
        others.push(request);
        continue;
      }
      const sequence = new Sequence(request);
      this.#kvCache.adopt(sequence, held.row, held.length);
      this.#scheduler.adopt(sequence);
    }
    if (this.#journal) this.#kvCache.discardIdle();
    return others;
  }

  abort(id: number): void {
    this.#scheduler.abort(id);
    this.#grammars?.close(id);
  }

  get hasWork(): boolean {
    return this.#scheduler.hasWork;
  }

  /** One iteration; returns the tokens it made, in no particular order. */
  step(): TokenOutput[] {
    const planned = this.#scheduler.plan();
    if (!planned) return [];
    const plan = this.#speculator?.speculate(planned) ?? planned;
    this.#journal?.invalidate(plan.cacheOperations);
    this.#decoder.rearrange(plan.cacheOperations);
    this.#journal?.record(this.#scheduler.running);
    for (const { sequence, draftTokenIds } of plan.verify ?? []) {
      this.#grammars?.draft(sequence, draftTokenIds);
    }
    const { rows, verified = [], failures, timings } = this.#decoder.execute(plan);
    this.#costs.observe(plan, timings);
    const {
      ready,
      pending,
      failures: stuck,
    } = this.#grammars?.constrain(rows) ?? unconstrained(rows);
    const { sampled, failures: unsampled } = this.#sampler.sample(ready);
    this.#numSteps += 1;
    const failed = [...failures, ...stuck, ...unsampled];
    const outputs = this.#scheduler.commit(plan, sampled, failed, pending);
    for (const draft of verified) {
      if (pending.includes(draft.sequence)) continue;
      const followed = this.#follow(draft);
      sampled.push(...followed.sampled);
      outputs.push(...followed.outputs);
    }
    this.#journal?.record(this.#scheduler.running);
    for (const { id, finishReason } of outputs) if (finishReason) this.#grammars?.close(id);
    const areFew = this.#scheduler.running.length <= MAX_CONSTRAINED_VERIFY_RUNS;
    this.#grammars?.accept(sampled, areFew);
    return outputs;
  }

  /** Samples behind each draft token that came true, in order, until one did not. */
  #follow({ sequence, draftTokenIds, logits }: VerifiedDraft) {
    const outputs: TokenOutput[] = [];
    const followed: SampledToken[] = [];
    for (const [index, behind] of logits.entries()) {
      // A sequence that has ended gave up its row.
      if (sequence.lastTokenId !== draftTokenIds[index]) break;
      this.#speculator?.countAccepted(sequence, index);
      if (sequence.row === -1) break;
      if (this.#grammars?.constrainBehind(sequence, index) === false) break;
      const { sampled, failures } = this.#sampler.sample([{ sequence, logits: behind }]);
      followed.push(...sampled);
      outputs.push(...this.#scheduler.commitAccepted(sampled, failures));
    }
    return { sampled: followed, outputs };
  }

  get stats(): EngineStats {
    return {
      numRunning: this.#scheduler.running.length,
      numWaiting: this.#scheduler.waiting.length,
      kvCacheUsage: this.#kvCache.usage,
      numSteps: this.#numSteps,
      ...this.#scheduler.counters,
      ...(this.#speculator?.counters ?? NO_DRAFTS),
    };
  }
}

function unconstrained(rows: readonly LogitsRow[]): ConstrainedRows {
  return { ready: rows, pending: [], failures: [] };
}
