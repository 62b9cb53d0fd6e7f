import type { KvCache } from '../kv-cache/kv-cache.ts';
import type { TokenOutput } from '../request.ts';
import type { Sequence } from '../sequence.ts';
import type { SampledToken, Segment, StepOutcome, StepPlan } from '../step.ts';
import { segmentOf } from '../step.ts';
import type { CostModel } from '../costs/cost-model.ts';
import type { Drafter } from '../drafter.ts';
import { fitsAdapters } from './adapter-room.ts';
import { appendTokens, readOutput } from './append-tokens.ts';
import { BackgroundPrefill } from './background-prefill.ts';
import { DEFAULT_PREFILL_POLICY, PrefillBudget, type PrefillPolicy } from './prefill-budget.ts';
import { isDecoding, numWantedTokens, planPrefill } from './prefill-planner.ts';
import { PrefixCounts } from './prefix-counts.ts';
import { SentBack, type SentBackFor, type SentBackSequence } from './sent-back.ts';
import { insertInOrder } from './sequence-order.ts';
import { JOINING_SHARE, lastToYield, latestTier, LATE_STEP_EVERY, tierOf } from './tiers.ts';

export interface SchedulerOptions {
  /** Sequences that run at once. */
  readonly maxNumSeqs: number;
  /** Tokens that one step computes at most; at least `maxNumSeqs`, so that all can decode. */
  readonly maxNumBatchedTokens: number;
  /** See EngineOptions. */
  readonly targetItlMs: number | null;
  readonly prefillPolicy?: PrefillPolicy;
  /** Different adapters that run at once; any number if left out. */
  readonly maxAdapters?: number;
}

/** How many others may get a slot before a sequence that waits for memory. */
const MAX_OVERTAKEN = 32;

/**
 * Decides what each step computes: one token of every sequence that decodes, then as much prefill as
 * the token budget and the inter-token target leave. Slots are given in order of arrival and priority.
 *
 * `plan` changes who waits and who runs: it gives out slots and memory, and takes them from the
 * last in order if memory is short. It advances no sequence: what a step computed and sampled
 * counts from `commit` on.
 */
export class Scheduler {
  readonly #kvCache: KvCache;
  readonly #costs: CostModel;
  readonly #options: SchedulerOptions;
  readonly #prefillBudget: PrefillBudget;
  readonly #drafter: Drafter | null;
  /** Without a slot, in order. */
  readonly #waiting: Sequence[] = [];
  /** With a slot, in order. */
  readonly #running: Sequence[] = [];
  readonly #background: BackgroundPrefill;
  readonly #sentBack = new SentBack();
  readonly #prefixes = new PrefixCounts();
  #numPlans = 0;

  /** @param drafter without it every step gives a sequence one token at most */
  constructor(
    kvCache: KvCache,
    costs: CostModel,
    options: SchedulerOptions,
    drafter: Drafter | null = null,
  ) {
    const { maxNumSeqs, maxNumBatchedTokens } = options;
    if (maxNumBatchedTokens < maxNumSeqs) {
      throw new RangeError(
        `maxNumBatchedTokens (${maxNumBatchedTokens}) is below maxNumSeqs (${maxNumSeqs})`,
      );
    }
    this.#kvCache = kvCache;
    this.#costs = costs;
    this.#options = options;
    this.#drafter = drafter;
    this.#background = new BackgroundPrefill(kvCache, costs, maxNumBatchedTokens);
    this.#prefillBudget = new PrefillBudget(options.prefillPolicy ?? DEFAULT_PREFILL_POLICY);
  }

  get waiting(): readonly Sequence[] {
    return this.#waiting;
  }

  get running(): readonly Sequence[] {
    return this.#running;
  }

  /** Sequences that gave up their slots in the last plan. */
  get sentBack(): readonly SentBackSequence[] {
    return this.#sentBack.inPlan;
  }

  get hasWork(): boolean {
    return this.#hasRequests || this.#background.hasWork;
  }

  /** Whether anybody waits for a token. */
  get #hasRequests(): boolean {
    return this.#running.length > 0 || this.#waiting.length > 0;
  }

  get counters() {
    return { ...this.#sentBack.counters, ...this.#prefixes.counters };
  }

  add(sequence: Sequence): void {
    if (sequence.request.background !== undefined) this.#background.add(sequence);
    else insertInOrder(this.#waiting, sequence);
  }

  /** Takes up a sequence that has a slot already. */
  adopt(sequence: Sequence): void {
    insertInOrder(this.#running, sequence);
  }

  /** Forgets a sequence and frees its slot at once. Unknown ids (already finished) are ignored. */
  abort(id: number): void {
    const waiting = this.#waiting.findIndex((sequence) => sequence.id === id);
    if (waiting !== -1) this.#waiting.splice(waiting, 1);
    const running = this.#running.find((sequence) => sequence.id === id);
    if (running) this.#release(running, true);
    this.#background.abort(id);
  }

  /** The next step, or null when there is nothing to do. */
  plan(): StepPlan | null {
    this.#sentBack.beginPlan();
    if (!this.#hasRequests) return this.#background.plan();
    this.#background.suspend();
    this.#growDecoding();
    this.#admit();
    const lateTier = this.#keepPace();
    this.#kvCache.compact();
    const decode = this.#running
      .filter((sequence) => isDecoding(sequence) && tierOf(sequence) <= lateTier)
      .map((sequence) => segmentOf(sequence, 1));
    const prefill = this.#planPrefill(decode);
    const drafted = this.#drafter?.draft(decode, decode.length === this.#running.length) ?? decode;
    return { cacheOperations: this.#kvCache.drainOperations(), segments: [...drafted, ...prefill] };
  }

  /** Makes an executed plan count: tokens are appended, and sequences that have ended are released. */
  commit({ segments }: StepPlan, { sampled, failures }: StepOutcome): TokenOutput[] {
    const outputs = sampled.flatMap(({ segment, tokens, values }) => {
      if (values) return [readOutput(segment.sequence, values)];
      this.#countAccepted(segment, tokens);
      return appendTokens(segment.sequence, tokens);
    });
    const failed = new Set(failures.map(({ sequence }) => sequence));
    for (const { sequence, start, numTokens } of segments) {
      if (failed.has(sequence)) continue;
      // A last token has nothing sampled after it yet, and wrong drafts are no tokens of the sequence.
      sequence.numComputedTokens = Math.min(start + numTokens, sequence.numTokens - 1);
      this.#kvCache.registerBlocks(sequence);
    }
    for (const { segment } of sampled) {
      const { sequence } = segment;
      if (sequence.finishReason() && !failed.has(sequence)) this.#release(sequence, true);
    }
    for (const { sequence, message, ...blame } of failures) {
      this.#release(sequence, false);
      const { id } = sequence;
      outputs.push({ id, tokenId: -1, finishReason: 'error', error: message, ...blame });
    }
    return outputs;
  }

  #countAccepted(segment: Segment, tokens: readonly SampledToken[]): void {
    const { draftTokenIds } = segment;
    if (draftTokenIds.length === 0) return;
    const cameTrue = tokens.filter(({ tokenId }, index) => tokenId === draftTokenIds[index]);
    this.#drafter?.count(segment, cameTrue.length);
  }

  /**
   * Reserves memory for every sequence's next token. If there is too little, the last in order are
   * preempted.
   */
  #growDecoding(): void {
    // The list shrinks at its end meanwhile, where sequences are preempted.
    for (const sequence of this.#running) {
      if (!isDecoding(sequence)) continue;
      while (!this.#kvCache.grow(sequence, sequence.numTokens)) {
        const last = this.#running.at(-1) ?? sequence;
        this.#sendBack(last, 'memory');
        if (last === sequence) return;
      }
    }
  }

  /**
   * Takes a sequence's slot. Its tokens stay; their keys and values are computed again later, as far as
   * there is no memory to keep them.
   */
  #sendBack(sequence: Sequence, reason: SentBackFor): void {
    this.#sentBack.add(sequence, reason);
    this.#release(sequence, reason === 'class');
    insertInOrder(this.#waiting, sequence);
  }

  /**
   * As long as a step would be too long for a stream of a better tier, the last of the others yield.
   * @returns the worst tier that may decode in this step
   */
  #keepPace(): number {
    for (;;) {
      const tier = latestTier(this.#running, this.#decodeMs(this.#running));
      const last = lastToYield(this.#running, tier);
      if (!last) return this.#numPlans++ % LATE_STEP_EVERY === 0 ? Infinity : tier;
      this.#sendBack(last, 'class');
    }
  }

  /**
   * Slots go to the best tier, and in it to the first in order, as long as there is a slot and budget
   * for a first token. A sequence without memory, or room for its adapter, can be overtaken by others
   * of its tier, but not forever.
   */
  #admit(): void {
    const blocked: Sequence[] = [];
    let closedTier = Infinity;
    for (const sequence of this.#waiting.toSorted((a, b) => tierOf(a) - tierOf(b))) {
      const tier = tierOf(sequence);
      if (tier >= closedTier) continue;
      if (!this.#hasRoomFor(sequence)) {
        closedTier = tier;
      } else if (fitsAdapters(sequence, this.#running, this.#options) && this.#reserve(sequence)) {
        this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
        insertInOrder(this.#running, sequence);
        this.#prefixes.count(sequence);
        for (const other of blocked) other.timesOvertaken++;
      } else {
        closedTier = sequence.timesOvertaken >= MAX_OVERTAKEN ? tier : tier + 1;
        blocked.push(sequence);
      }
    }
  }

  /** Whether there is a slot, budget for its first token, and time. Worse tiers give up theirs. */
  #hasRoomFor(sequence: Sequence): boolean {
    const { maxNumSeqs, maxNumBatchedTokens } = this.#options;
    const tier = tierOf(sequence);
    const others = this.#running.filter((other) => tierOf(other) <= tier);
    const numWanted = others.reduce((sum, other) => sum + numWantedTokens(other), 0);
    if (others.length === maxNumSeqs || numWanted >= maxNumBatchedTokens) return false;
    const stepMs = this.#decodeMs([...this.#running, sequence]) / JOINING_SHARE;
    const isFirst = others.every((other) => tierOf(other) < tier);
    return isFirst || latestTier(others, stepMs) >= tier;
  }

  /** Gives it a slot and memory, if need be those of the last of worse tiers. */
  #reserve(sequence: Sequence): boolean {
    for (;;) {
      const isFull = this.#running.length === this.#options.maxNumSeqs;
      if (!isFull && this.#kvCache.reserve(sequence, this.#running.length)) return true;
      const last = this.#running.findLast((other) => tierOf(other) > tierOf(sequence));
      if (!last) return false;
      this.#sendBack(last, 'class');
    }
  }

  /** For the best tier that has prompts to compute; decodes of worse tiers can be held up for it. */
  #planPrefill(decode: readonly Segment[]): Segment[] {
    const { maxNumSeqs, maxNumBatchedTokens, targetItlMs } = this.#options;
    const prompts = this.#running.filter((sequence) => !isDecoding(sequence));
    const tier = Math.min(...prompts.map(tierOf));
    const sequences = prompts.filter((sequence) => tierOf(sequence) === tier);
    const numFreeSlots = maxNumSeqs - this.#running.length;
    const numPrompts = sequences.length + Math.min(this.#waiting.length, numFreeSlots);
    const targets = [targetItlMs, ...decode.map(({ sequence }) => sequence.request.targetItlMs)];
    return planPrefill({
      sequences,
      // For prompts of a worse tier nobody makes more haste.
      numPrompts: decode.some(({ sequence }) => tierOf(sequence) < tier) ? 1 : numPrompts,
      decode,
      mayHoldUp: decode.every(({ sequence }) => tierOf(sequence) > tier),
      targetMs: Math.min(...targets.map((targetMs) => targetMs ?? Infinity)),
      maxTokens: maxNumBatchedTokens - decode.length,
      budget: this.#prefillBudget,
      costs: this.#costs,
    });
  }

  /** Predicted time of a step in which all of them decode. */
  #decodeMs(sequences: readonly Sequence[]): number {
    return this.#costs.decodeMs(sequences.map(({ numTokens }) => ({ start: numTokens })));
  }

  #release(sequence: Sequence, keep: boolean): void {
    this.#kvCache.release(sequence, keep);
    const index = this.#running.indexOf(sequence);
    if (index === -1) this.#background.ended(sequence);
    else this.#running.splice(index, 1);
  }
}
