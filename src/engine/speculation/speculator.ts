import { AcceptanceRate } from './acceptance-rate.ts';
import type { CostModel } from '../scheduling/cost-model.ts';
import { DraftRecord } from './draft-record.ts';
import type { Draft, DraftSource } from './draft-source.ts';
import type { KvCacheManager } from '../kv-cache/kv-cache.ts';
import type { Sequence } from '../sequence.ts';
import {
  MAX_CONSTRAINED_VERIFY_RUNS,
  MAX_VERIFY_RUNS,
  type StepPlan,
  type VerifyRun,
} from '../step.ts';
import { TrialSchedule } from './draft-backoff.ts';

/** Tokens per second must be expected to rise by this factor. */
const DEFAULT_MIN_GAIN = 1.1;
/** About the last thirty tokens of all sequences count for a new one. */
const DECAY = 0.97;

export interface SpeculatorOptions {
  readonly source: DraftSource;
  /** For sequences with a grammar, free; without it they decode plainly. */
  readonly constrainedSource?: DraftSource | null;
  readonly kvCache: KvCacheManager;
  readonly costs: CostModel;
  /** Longest draft. */
  readonly maxTokens: number;
  /** Tokens that one step computes at most. */
  readonly maxNumBatchedTokens: number;
  readonly minGain?: number;
}

/** What a sequence's next step could be. */
interface Prospect {
  readonly sequence: Sequence;
  readonly record: DraftRecord;
  readonly source: DraftSource;
  /** Made already, where that costs nothing. */
  readonly draft: Draft | null;
  /** Tokens of the draft to verify; 0 when there is nothing to go by. */
  readonly length: number;
  /** Tokens that it is expected to gain by that, the one it gets anyway included. */
  readonly numExpected: number;
  /** Of draft and verify run together. */
  readonly ms: number;
}

/**
 * Speculative decoding: where few sequences decode, and nothing else is to be done, guesses how they
 * go on and has all guesses computed in one run each. A token that was guessed right is the one that
 * would have been sampled anyway, so texts stay the same; only their pace changes.
 *
 * The length of a draft follows from how often drafts came true, for this sequence above all, and
 * from what verify runs and decode runs have been measured to cost. Nobody is slowed down for
 * another's sake: every decoding sequence has to gain, or all decode plainly.
 */
export class Speculator {
  readonly #options: SpeculatorOptions;
  readonly #minGain: number;
  readonly #records = new WeakMap<Sequence, DraftRecord>();
  /** By kind of draft, of all sequences. */
  readonly #rates = new Map<number, AcceptanceRate>();
  /** Of drafts that cost something. */
  readonly #trials = new TrialSchedule();
  #numDrafts = 0;
  readonly #numDraftTokens = { guessed: 0, forced: 0 };
  readonly #numAcceptedTokens = { guessed: 0, forced: 0 };

  constructor(options: SpeculatorOptions) {
    this.#options = options;
    this.#minGain = options.minGain ?? DEFAULT_MIN_GAIN;
  }

  get counters() {
    return {
      numDrafts: this.#numDrafts,
      numDraftTokens: this.#numDraftTokens.guessed + this.#numDraftTokens.forced,
      numAcceptedTokens: this.#numAcceptedTokens.guessed + this.#numAcceptedTokens.forced,
      numForcedDraftTokens: this.#numDraftTokens.forced,
      numForcedAcceptedTokens: this.#numAcceptedTokens.forced,
    };
  }

  /** Token `index` of the sequence's draft came true. */
  countAccepted(sequence: Sequence, index: number): void {
    this.#numAcceptedTokens[originOf(this.#recordOf(sequence).kindAt(index))]++;
  }

  /** The plan, with its decode run replaced by verify runs where that pays. */
  speculate(plan: StepPlan): StepPlan {
    const { decode, prefill } = plan;
    const sequences = decode.flatMap(({ sequence }) => sequence ?? []);
    for (const sequence of sequences) this.#recordOf(sequence).score(sequence);
    // Without knowing what decode runs cost there is nothing to judge verify runs by.
    if (!this.#options.costs.knowsDecode) return plan;
    const isDecodeOnly = prefill.length === 0 && sequences.length === decode.length;
    const isConstrained = sequences.some(({ request }) => request.grammar !== null);
    const maxRuns = isConstrained ? MAX_CONSTRAINED_VERIFY_RUNS : MAX_VERIFY_RUNS;
    const areFew = sequences.length > 0 && sequences.length <= maxRuns;
    if (!isDecodeOnly || !areFew) return plan;
    if (!sequences.every((sequence) => this.#canSpeculate(sequence))) return plan;
    const areCostly = sequences.every((sequence) => this.#sourceFor(sequence)?.isFree === false);
    if (areCostly && this.#trials.rests()) return plan;
    const prospects = sequences.map((sequence) => this.#prospect(sequence, sequences.length));
    const verify = this.#isWorthIt(prospects, decode, areCostly) ? this.#draft(prospects) : [];
    // Memory for drafts may have been taken from texts kept for reuse, even if none was made.
    const operations = this.#options.kvCache.takeOperations();
    const cacheOperations = [...plan.cacheOperations, ...operations];
    if (verify.length === 0) {
      this.#watch(prospects);
      return { ...plan, cacheOperations };
    }
    const numDraftTokens = this.#count(verify);
    return {
      cacheOperations,
      decode: [],
      prefill,
      verify,
      numBatchedTokens: sequences.length + numDraftTokens,
    };
  }

  release(): void {
    this.#options.source.release();
    this.#options.constrainedSource?.release();
  }

  /** A prompt that is scored goes token by token. */
  #canSpeculate(sequence: Sequence): boolean {
    return !sequence.scoresPrompt && this.#sourceFor(sequence) !== null;
  }

  #sourceFor(sequence: Sequence): DraftSource | null {
    const { source, constrainedSource = null } = this.#options;
    return sequence.request.grammar === null ? source : constrainedSource;
  }

  /** Returns how many tokens are drafted. */
  #count(verify: readonly VerifyRun[]): number {
    this.#numDrafts += verify.length;
    let numTokens = 0;
    for (const { sequence, draftTokenIds } of verify) {
      const record = this.#recordOf(sequence);
      for (const index of draftTokenIds.keys()) {
        this.#numDraftTokens[originOf(record.kindAt(index))]++;
      }
      numTokens += draftTokenIds.length;
    }
    return numTokens;
  }

  /** The length of draft that promises the most tokens per second. */
  #prospect(sequence: Sequence, numSequences: number): Prospect {
    const { costs, maxTokens, maxNumBatchedTokens } = this.#options;
    const source = this.#sourceFor(sequence) ?? this.#options.source;
    const record = this.#recordOf(sequence);
    // The step gives one token more than it drafts, and must not pass the request's limit.
    const numLeft = sequence.request.maxTokens - sequence.numOutputTokens - 1;
    const numFree = Math.floor(maxNumBatchedTokens / numSequences) - 1;
    const longest = Math.max(0, Math.min(maxTokens, numLeft, numFree));
    const draft = source.isFree ? source.draft(sequence, longest, record.rate) : null;
    const none = { length: 0, numExpected: 1, ms: Infinity };
    let best: Prospect = { sequence, record, source, draft, ...none };
    let [numExpected, chance] = [1, 1];
    for (let length = 1; length <= (draft?.tokenIds.length ?? longest); length++) {
      chance *= record.rate(draft?.kinds[length - 1] ?? 0);
      numExpected += chance;
      const ms = costs.verifyMs(sequence.numComputedTokens, length) + source.costMs(length);
      if (numExpected / ms > best.numExpected / best.ms) {
        best = { ...best, length, numExpected, ms };
      }
    }
    return best;
  }

  #isWorthIt(
    prospects: readonly Prospect[],
    decode: StepPlan['decode'],
    areCostly: boolean,
  ): boolean {
    if (prospects.some(({ length }) => length === 0)) return false;
    const pays = this.#pays(prospects, decode);
    if (!areCostly) return pays;
    // What costs something to try says nothing of itself unless it is tried.
    const { isTrial } = this.#trials;
    this.#trials.judge(pays);
    return pays || isTrial;
  }

  #pays(prospects: readonly Prospect[], decode: StepPlan['decode']): boolean {
    const plainMs = this.#options.costs.plainMs(decode);
    const ms = prospects.reduce((sum, prospect) => sum + prospect.ms, 0);
    return prospects.every(({ numExpected }) => numExpected * plainMs >= this.#minGain * ms);
  }

  /** Drafts for all, or none when there is no draft or no memory for one of them. */
  #draft(prospects: readonly Prospect[]): VerifyRun[] {
    const { kvCache } = this.#options;
    const verify: VerifyRun[] = [];
    for (const { sequence, record, source, draft: made, length } of prospects) {
      if (!kvCache.grow(sequence, sequence.numTokens + length)) return [];
      const draft = made ?? source.draft(sequence, length, record.rate);
      const draftTokenIds = draft.tokenIds.slice(0, length);
      if (draftTokenIds.length === 0) return [];
      record.remember(sequence, draft);
      verify.push({ sequence, draftTokenIds });
    }
    return verify;
  }

  /** A draft that is there all the same shows what it is worth without being verified. */
  #watch(prospects: readonly Prospect[]): void {
    for (const { sequence, record, draft } of prospects) {
      if (draft) record.remember(sequence, draft);
    }
  }

  #recordOf(sequence: Sequence): DraftRecord {
    let record = this.#records.get(sequence);
    if (!record) {
      const source = this.#sourceFor(sequence) ?? this.#options.source;
      record = new DraftRecord((kind) => this.#rateOf(source, kind));
      this.#records.set(sequence, record);
    }
    return record;
  }

  #rateOf(source: DraftSource, kind: number): AcceptanceRate {
    let rate = this.#rates.get(kind);
    if (!rate) {
      rate = new AcceptanceRate(() => source.priorRate(kind), DECAY);
      this.#rates.set(kind, rate);
    }
    return rate;
  }
}

function originOf(kind: number): 'forced' | 'guessed' {
  return kind < 0 ? 'forced' : 'guessed';
}
