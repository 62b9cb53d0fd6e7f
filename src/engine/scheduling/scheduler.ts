import type { CostModel } from './cost-model.ts';
import type { KvCacheManager } from '../kv-cache/kv-cache.ts';
import type { TokenOutput } from '../request.ts';
import { DEFAULT_PREFILL_POLICY, PrefillBudget, type PrefillPolicy } from './prefill-budget.ts';
import { planPrefill } from './prefill-planner.ts';
import { wholeBlocks } from '../kv-cache/prefix-index.ts';
import type { Sequence } from '../sequence.ts';
import type { DecodeRow, SampledToken, SequenceFailure, StepPlan } from '../step.ts';

export interface SchedulerOptions {
  /** Sequences that run at once. */
  readonly maxNumSeqs: number;
  /** Tokens that one step computes at most; at least `maxNumSeqs`, so that all can decode. */
  readonly maxNumBatchedTokens: number;
  /** See EngineOptions. */
  readonly targetItlMs: number | null;
  readonly prefillPolicy?: PrefillPolicy;
  readonly batching: 'continuous' | 'static';
  /** A prompt's last token is never computed in a decode run, which rounds otherwise than prefill. */
  readonly reproducible?: boolean;
}

/** How many others may get a row while a sequence's memory is not yet to be had. */
const MAX_OVERTAKEN = 32;

/**
 * Decides what each iteration computes: every sequence with one token to compute decodes, then
 * prefill takes what the token budget and the inter-token target leave. Rows are given in order of
 * arrival, priority weighed in.
 *
 * `plan` reserves rows and time and otherwise changes nothing; `commit` publishes what an executed plan gave.
 */
export class Scheduler {
  readonly #kvCache: KvCacheManager;
  readonly #costs: CostModel;
  readonly #options: SchedulerOptions;
  readonly #prefillBudget: PrefillBudget;
  /** Without a row, in order. */
  readonly #waiting: Sequence[] = [];
  /** With a row, in order. */
  readonly #running: Sequence[] = [];
  #numPreemptions = 0;
  #prefixQueries = 0;
  #prefixHits = 0;

  constructor(kvCache: KvCacheManager, costs: CostModel, options: SchedulerOptions) {
    const { maxNumSeqs, maxNumBatchedTokens } = options;
    if (maxNumBatchedTokens < maxNumSeqs) {
      throw new RangeError(
        `maxNumBatchedTokens (${maxNumBatchedTokens}) is below maxNumSeqs (${maxNumSeqs})`,
      );
    }
    this.#kvCache = kvCache;
    this.#costs = costs;
    this.#options = options;
    const { prefillPolicy = DEFAULT_PREFILL_POLICY, targetItlMs } = options;
    this.#prefillBudget = new PrefillBudget(prefillPolicy, targetItlMs);
  }

  get waiting(): readonly Sequence[] {
    return this.#waiting;
  }

  get running(): readonly Sequence[] {
    return this.#running;
  }

  get hasWork(): boolean {
    return this.#running.length > 0 || this.#waiting.length > 0;
  }

  get counters() {
    return {
      numPreemptions: this.#numPreemptions,
      prefixCacheQueries: this.#prefixQueries,
      prefixCacheHits: this.#prefixHits,
    };
  }

  add(sequence: Sequence): void {
    insertInOrder(this.#waiting, sequence);
  }

  /** Takes up a sequence that has a row already. */
  adopt(sequence: Sequence): void {
    insertInOrder(this.#running, sequence);
  }

  /** Forgets a sequence and frees its row at once. Unknown ids (already finished) are ignored. */
  abort(id: number): void {
    const waiting = this.#waiting.findIndex((sequence) => sequence.id === id);
    if (waiting !== -1) this.#waiting.splice(waiting, 1);
    const running = this.#running.find((sequence) => sequence.id === id);
    if (running) this.#finish(running, true);
  }

  /** The next iteration, or null when there is nothing to do. */
  plan(): StepPlan | null {
    if (!this.hasWork) return null;
    this.#growDecoding();
    this.#admit();
    this.#kvCache.compact();
    const decode = this.#planDecode();
    const numDecoding = decode.filter(({ sequence }) => sequence !== null).length;
    const sequences = this.#running.filter((sequence) => !this.#isDecoding(sequence));
    const numFreeRows = this.#options.maxNumSeqs - this.#running.length;
    const prefill = planPrefill({
      sequences,
      numPrompts: sequences.length + Math.min(this.#waiting.length, numFreeRows),
      decode,
      maxTokens: this.#options.maxNumBatchedTokens - numDecoding,
      budget: this.#prefillBudget,
      costs: this.#costs,
      isOneRun: this.#kvCache.runsStepsWhole,
      grow: (sequence, length) => this.#kvCache.grow(sequence, length),
    });
    const numPrefillTokens = prefill.flat().reduce((sum, { length }) => sum + length, 0);
    return {
      cacheOperations: this.#kvCache.takeOperations(),
      decode,
      prefill,
      numBatchedTokens: numDecoding + numPrefillTokens,
    };
  }

  /**
   * Makes an executed plan visible: advances what was computed, appends what was sampled, frees what
   * has ended.
   * @param pending sequences that could not sample yet: their last token is computed once more
   */
  commit(
    plan: StepPlan,
    sampled: readonly SampledToken[],
    failures: readonly SequenceFailure[],
    pending: readonly Sequence[] = [],
  ): TokenOutput[] {
    const failed = new Set(failures.map((failure) => failure.sequence));
    const advance = (sequence: Sequence, length: number) => {
      if (failed.has(sequence)) return;
      this.#advance(sequence, pending.includes(sequence) ? length - 1 : length);
    };
    for (const { sequence } of plan.decode) if (sequence) advance(sequence, 1);
    for (const { sequence, length } of plan.prefill.flat()) advance(sequence, length);
    for (const { sequence } of plan.verify ?? []) advance(sequence, 1);
    return this.#publish(sampled, failures);
  }

  /**
   * Makes visible what was sampled behind an accepted draft token, whose keys and values the same
   * step has computed.
   */
  commitAccepted(
    sampled: readonly SampledToken[],
    failures: readonly SequenceFailure[],
  ): TokenOutput[] {
    for (const { sequence } of sampled) this.#advance(sequence, 1);
    return this.#publish(sampled, failures);
  }

  #publish(sampled: readonly SampledToken[], failures: readonly SequenceFailure[]): TokenOutput[] {
    const outputs: TokenOutput[] = [];
    for (const { sequence, tokenId, ...logprobs } of sampled) {
      const isFirst = sequence.numTokens === numGivenTokens(sequence);
      sequence.append(tokenId);
      const finishReason = sequence.finishReason();
      if (finishReason) this.#finish(sequence, true);
      const output = { id: sequence.id, tokenId, finishReason, ...logprobs };
      outputs.push(isFirst ? { ...output, numCachedTokens: sequence.numCachedTokens } : output);
    }
    for (const { sequence, message } of failures) {
      this.#finish(sequence, false);
      outputs.push({ id: sequence.id, tokenId: -1, finishReason: 'error', error: message });
    }
    return outputs;
  }

  #advance(sequence: Sequence, numTokens: number): void {
    sequence.numComputedTokens += numTokens;
    this.#kvCache.advanced(sequence);
  }

  /** Memory for everybody's next token; where it lacks, the last in order give up their rows. */
  #growDecoding(): void {
    for (const sequence of this.#running.filter((other) => this.#isDecoding(other))) {
      // Preempted for the sake of one before it.
      if (sequence.row === -1) continue;
      while (!this.#kvCache.grow(sequence, sequence.numTokens)) {
        const last = this.#running.at(-1) ?? sequence;
        this.#preempt(last);
        if (last === sequence) break;
      }
    }
  }

  /** Takes a sequence's row. Its tokens stay; their keys and values are computed again later. */
  #preempt(sequence: Sequence): void {
    this.#finish(sequence, false);
    sequence.numComputedTokens = 0;
    this.#numPreemptions++;
    insertInOrder(this.#waiting, sequence);
  }

  /**
   * Rows go to the first in order, as long as there is a row and budget for its first token. One
   * that finds no memory is overtaken by those that do, but not for ever.
   */
  #admit(): void {
    const { maxNumSeqs, maxNumBatchedTokens, batching } = this.#options;
    const isStatic = batching === 'static';
    if (isStatic && this.#running.length > 0) return;
    let budget = maxNumBatchedTokens;
    for (const sequence of this.#running) budget -= this.#numWantedTokens(sequence);
    const blocked: Sequence[] = [];
    for (const sequence of this.#waiting.slice()) {
      if (this.#running.length === maxNumSeqs || (budget <= 0 && !isStatic)) return;
      // A block for each of the others: admitting must not force a preemption at once.
      if (this.#kvCache.reserve(sequence, this.#running.length)) {
        this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
        insertInOrder(this.#running, sequence);
        this.#countPrefix(sequence);
        budget -= this.#numWantedTokens(sequence);
        for (const other of blocked) other.timesOvertaken++;
      } else {
        if (sequence.timesOvertaken >= MAX_OVERTAKEN) return;
        blocked.push(sequence);
      }
    }
  }

  #countPrefix(sequence: Sequence): void {
    if (sequence.numCachedTokens !== -1) return;
    sequence.numCachedTokens = wholeBlocks(sequence.numComputedTokens);
    this.#prefixQueries += sequence.numTokens;
    this.#prefixHits += sequence.numCachedTokens;
  }

  #planDecode(): DecodeRow[] {
    const rows: DecodeRow[] = [];
    const { extent } = this.#kvCache;
    for (let row = 0; row < extent; row++) {
      const owner = this.#kvCache.ownerOf(row);
      // A dead row writes behind what its owner has cached, where the owner's next chunk goes anyway.
      rows.push({
        sequence: owner && this.#isDecoding(owner) ? owner : null,
        position: owner?.numComputedTokens ?? 0,
      });
    }
    return rows.slice(0, rows.findLastIndex(({ sequence }) => sequence !== null) + 1);
  }

  /**
   * One token to compute fits the batched decode run, be it sampled or the last of a prompt. So does
   * a prompt that is scored: it needs the logits of every token, and goes one by one.
   */
  #isDecoding(sequence: Sequence): boolean {
    if (sequence.scoresPrompt) return true;
    const isOfPrompt = sequence.numComputedTokens < sequence.numPromptTokens;
    const isPrefill = isOfPrompt && (this.#options.reproducible ?? false);
    return sequence.numUncomputedTokens === 1 && !isPrefill;
  }

  /** What it would compute in one step, given the budget. */
  #numWantedTokens(sequence: Sequence): number {
    return this.#isDecoding(sequence) ? 1 : sequence.numUncomputedTokens;
  }

  #finish(sequence: Sequence, keep: boolean): void {
    this.#kvCache.release(sequence, keep);
    this.#running.splice(this.#running.indexOf(sequence), 1);
  }
}

/** What the request came with: its prompt, and tokens of an earlier life. */
function numGivenTokens({ request }: Sequence): number {
  return request.promptTokenIds.length + request.outputTokenIds.length;
}

function insertInOrder(sequences: Sequence[], sequence: Sequence): void {
  const after = sequences.findLastIndex((other) => precedes(other, sequence));
  sequences.splice(after + 1, 0, sequence);
}

/** Of two that arrived at the same time, the one with the lower id was there first. */
function precedes(a: Sequence, b: Sequence): boolean {
  return a.order < b.order || (a.order === b.order && a.id < b.id);
}
