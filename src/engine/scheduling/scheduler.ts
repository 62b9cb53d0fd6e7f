import type { KvCache } from '../kv-cache/kv-cache.ts';
import { wholeBlocks } from '../kv-cache/prefix-index.ts';
import type { TokenOutput } from '../request.ts';
import type { Sequence } from '../sequence.ts';
import {
  type SampledToken,
  type Segment,
  segmentOf,
  type StepOutcome,
  type StepPlan,
} from '../step.ts';
import type { CostModel } from '../costs/cost-model.ts';
import { DEFAULT_PREFILL_POLICY, PrefillBudget, type PrefillPolicy } from './prefill-budget.ts';
import { planPrefill } from './prefill-planner.ts';

export interface SchedulerOptions {
  /** Sequences that run at once. */
  readonly maxNumSeqs: number;
  /** Tokens that one step computes at most; at least `maxNumSeqs`, so that all can decode. */
  readonly maxNumBatchedTokens: number;
  /** See EngineOptions. */
  readonly targetItlMs: number | null;
  readonly prefillPolicy?: PrefillPolicy;
  readonly batching: 'continuous' | 'static';
  /** Different adapters that run at once; any number if left out. */
  readonly maxAdapters?: number;
}

/** Guesses how decoding sequences go on. */
export interface Drafter {
  /**
   * To be called in every step in which something decodes.
   * @param decode all that decodes, one token each
   * @param isAlone whether the step computes nothing else
   * @returns the same, with drafts where these pay
   */
  draft(decode: readonly Segment[], isAlone: boolean): readonly Segment[];
  /** So many tokens of a segment's draft came true. */
  count(segment: Segment, numAccepted: number): void;
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
  #numPreemptions = 0;
  #prefixQueries = 0;
  #prefixHits = 0;

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
  }

  /** The next step, or null when there is nothing to do. */
  plan(): StepPlan | null {
    if (!this.hasWork) return null;
    this.#growDecoding();
    this.#admit();
    this.#kvCache.compact();
    const decode = this.#running.filter(isDecoding).map((sequence) => segmentOf(sequence, 1));
    const prefill = this.#planPrefill(decode);
    const isAlone = decode.length === this.#running.length;
    const drafted = this.#drafter?.draft(decode, isAlone) ?? decode;
    const cacheOperations = this.#kvCache.drainOperations();
    return { cacheOperations, segments: [...drafted, ...prefill] };
  }

  /** Makes an executed plan count: tokens are appended, and sequences that have ended are released. */
  commit({ segments }: StepPlan, { sampled, failures }: StepOutcome): TokenOutput[] {
    const outputs = sampled.flatMap(({ segment, tokens, values }) => {
      if (values) return [readOutput(segment.sequence, values)];
      this.#countAccepted(segment, tokens);
      return append(segment.sequence, tokens);
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
        this.#preempt(last);
        if (last === sequence) return;
      }
    }
  }

  /** Takes a sequence's slot. Its tokens stay; their keys and values are computed again later. */
  #preempt(sequence: Sequence): void {
    this.#release(sequence, false);
    sequence.numComputedTokens = 0;
    this.#numPreemptions++;
    insertInOrder(this.#waiting, sequence);
  }

  /**
   * Slots go to the first in order, as long as there is a slot and budget for a first token. A
   * sequence without memory, or room for its adapter, can be overtaken by others, but not forever.
   */
  #admit(): void {
    const { maxNumSeqs, maxNumBatchedTokens, batching } = this.#options;
    const isStatic = batching === 'static';
    if (isStatic && this.#running.length > 0) return;
    let budget = maxNumBatchedTokens;
    for (const sequence of this.#running) budget -= numWantedTokens(sequence);
    const blocked: Sequence[] = [];
    for (const sequence of this.#waiting.slice()) {
      if (this.#running.length === maxNumSeqs || (budget <= 0 && !isStatic)) return;
      const fits = this.#fitsAdapters(sequence);
      if (fits && this.#kvCache.reserve(sequence, this.#running.length)) {
        this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
        insertInOrder(this.#running, sequence);
        this.#countPrefix(sequence);
        budget -= numWantedTokens(sequence);
        for (const other of blocked) other.timesOvertaken++;
      } else {
        if (sequence.timesOvertaken >= MAX_OVERTAKEN) return;
        blocked.push(sequence);
      }
    }
  }

  /** Whether its adapter runs, or one more may. */
  #fitsAdapters({ request: { adapter } }: Sequence): boolean {
    const { maxAdapters = Infinity } = this.#options;
    if (!adapter || maxAdapters === Infinity) return true;
    const active = new Set(this.#running.map(({ request }) => request.adapter?.id));
    active.delete(undefined);
    return active.has(adapter.id) || active.size < maxAdapters;
  }

  #countPrefix(sequence: Sequence): void {
    if (sequence.numCachedTokens !== -1) return;
    sequence.numCachedTokens = wholeBlocks(sequence.numComputedTokens);
    this.#prefixQueries += sequence.numTokens;
    this.#prefixHits += sequence.numCachedTokens;
  }

  #planPrefill(decode: readonly Segment[]): Segment[] {
    const { maxNumSeqs, maxNumBatchedTokens } = this.#options;
    const sequences = this.#running.filter((sequence) => !isDecoding(sequence));
    const numFreeSlots = maxNumSeqs - this.#running.length;
    return planPrefill({
      sequences,
      numPrompts: sequences.length + Math.min(this.#waiting.length, numFreeSlots),
      decode,
      maxTokens: maxNumBatchedTokens - decode.length,
      budget: this.#prefillBudget,
      costs: this.#costs,
    });
  }

  #release(sequence: Sequence, keep: boolean): void {
    this.#kvCache.release(sequence, keep);
    this.#running.splice(this.#running.indexOf(sequence), 1);
  }
}

/**
 * Whether it computes a single token, either a sampled one or the last of a prompt. A prompt that
 * is scored needs the logits of every token, and is computed token by token.
 */
function isDecoding(sequence: Sequence): boolean {
  return sequence.scoresPrompt || sequence.numUncomputedTokens === 1;
}

/** What it would compute in one step, given the budget. */
function numWantedTokens(sequence: Sequence): number {
  return isDecoding(sequence) ? 1 : sequence.numUncomputedTokens;
}

function append(sequence: Sequence, tokens: readonly SampledToken[]): TokenOutput[] {
  return tokens.map((token) => {
    const isFirst = sequence.numTokens === numGivenTokens(sequence);
    sequence.append(token.tokenId);
    const output = { id: sequence.id, ...token, finishReason: sequence.finishReason() };
    return isFirst ? { ...output, numCachedTokens: sequence.numCachedTokens } : output;
  });
}

/** Of a sequence that ends with its prompt. */
function readOutput({ id, numCachedTokens }: Sequence, values: Float32Array): TokenOutput {
  return { id, tokenId: -1, finishReason: 'stop', numCachedTokens, values };
}

/** The tokens that the request came with: its prompt, and those generated before a crash. */
function numGivenTokens({ request }: Sequence): number {
  return request.promptTokenIds.length + request.outputTokenIds.length;
}

function insertInOrder(sequences: Sequence[], sequence: Sequence): void {
  const after = sequences.findLastIndex((other) => precedes(other, sequence));
  sequences.splice(after + 1, 0, sequence);
}

/** If two arrived at the same time, the one with the lower id goes first. */
function precedes(a: Sequence, b: Sequence): boolean {
  return a.order < b.order || (a.order === b.order && a.id < b.id);
}
