import { AcceptanceRate } from './acceptance-rate.ts';
import type { CostModel } from '../costs/cost-model.ts';
import { DraftRecord } from './draft-record.ts';
import type { Draft, DraftSource } from './draft-source.ts';
import { type Drafter, MAX_CONSTRAINED_DRAFTS, MAX_DRAFTS, withDraft } from '../drafter.ts';
import type { KvCache } from '../kv-cache/kv-cache.ts';
import type { Sequence } from '../sequence.ts';
import type { StateCache } from '../states/state-cache.ts';
import type { Segment } from '../step.ts';
import { DraftBackoff } from './draft-backoff.ts';

/** Tokens per second must be expected to rise by this factor. */
const DEFAULT_MIN_GAIN = 1.1;
/** About the last thirty tokens of all sequences count for a new one. */
const DECAY = 0.97;

export interface SpeculatorOptions {
  readonly source: DraftSource;
  /** For sequences with a grammar, at no cost; without it they decode plainly. */
  readonly constrainedSource?: DraftSource | null;
  readonly kvCache: KvCache;
  readonly costs: CostModel;
  /** States of a model that has some: after a draft that came true in part, that part is computed again. */
  readonly states?: Pick<StateCache, 'maxDraftTokens'> | null;
  /** Longest draft. */
  readonly maxTokens: number;
  /** Tokens that one step computes at most. */
  readonly maxNumBatchedTokens: number;
  readonly minGain?: number;
}

/** A candidate draft for a sequence's next step, with its expected gain. */
interface Prospect {
  readonly segment: Segment;
  readonly record: DraftRecord;
  readonly source: DraftSource;
  /** The draft, made already if that costs nothing. */
  readonly draft: Draft | null;
  /** Tokens of the draft to verify; 0 when there is nothing to go by. */
  readonly length: number;
  /** Tokens that the step is expected to give, the one it gives anyway included. */
  readonly numExpected: number;
  /** Expected time of draft, verify run, and what is computed again, together. */
  readonly ms: number;
}

/**
 * Speculative decoding: if few sequences decode and nothing else is to be done, guesses their
 * next tokens and verifies each sequence's guesses in one run. A token that was guessed right is
 * the one that would have been sampled anyway. So texts stay the same, and only their pace changes.
 *
 * The length of a draft follows from how often drafts came true, for this sequence above all, and
 * from what verify runs and decode runs have been measured to cost. No sequence is slowed down for
 * another: every decoding sequence must gain, or all decode plainly.
 */
export class Speculator implements Drafter {
  readonly #options: SpeculatorOptions;
  readonly #minGain: number;
  readonly #records = new WeakMap<Sequence, DraftRecord>();
  /** By kind of draft, of all sequences. */
  readonly #rates = new Map<number, AcceptanceRate>();
  /** Pauses drafts that cost something while they do not pay. */
  readonly #backoff = new DraftBackoff();
  #numDrafts = 0;
  readonly #numDraftTokens = { guessed: 0, forced: 0 };
  readonly #numAcceptedTokens = { guessed: 0, forced: 0 };

  constructor(options: SpeculatorOptions) {
    this.#options = options;
    this.#minGain = options.minGain ?? DEFAULT_MIN_GAIN;
  }

  /** Source of drafts for sequences without a grammar. */
  get source(): DraftSource {
    return this.#options.source;
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

  count({ sequence }: Segment, numAccepted: number): void {
    const record = this.#recordOf(sequence);
    for (let index = 0; index < numAccepted; index++) {
      this.#numAcceptedTokens[originOf(record.kindAt(index))]++;
    }
  }

  draft(decode: readonly Segment[], isAlone: boolean): readonly Segment[] {
    for (const { sequence } of decode) this.#recordOf(sequence).score(sequence);
    if (!isAlone || !this.#canDraft(decode)) return decode;
    const areCostly = decode.every(({ sequence }) => this.#sourceFor(sequence)?.isFree === false);
    if (areCostly && this.#backoff.rests()) return decode;
    const prospects = decode.map((segment) => this.#prospect(segment, decode.length));
    const drafted = this.#isWorthIt(prospects, decode, areCostly)
      ? this.#withDrafts(prospects)
      : [];
    if (drafted.length === 0) {
      this.#watch(prospects);
      return decode;
    }
    this.#countDrafts(drafted);
    return drafted;
  }

  release(): void {
    this.#options.source.release();
    this.#options.constrainedSource?.release();
  }

  #canDraft(decode: readonly Segment[]): boolean {
    // Until the cost of decode runs is known, verify runs can't be judged.
    if (decode.length === 0 || !this.#options.costs.knowsDecode) return false;
    const isConstrained = decode.some(({ sequence }) => sequence.request.grammar !== null);
    if (decode.length > (isConstrained ? MAX_CONSTRAINED_DRAFTS : MAX_DRAFTS)) return false;
    // A prompt that is scored goes token by token.
    return decode.every(
      ({ sequence }) => !sequence.scoresPrompt && this.#sourceFor(sequence) !== null,
    );
  }

  #sourceFor(sequence: Sequence): DraftSource | null {
    const { source, constrainedSource = null } = this.#options;
    return sequence.request.grammar === null ? source : constrainedSource;
  }

  #countDrafts(drafted: readonly Segment[]): void {
    this.#numDrafts += drafted.length;
    for (const { sequence, draftTokenIds } of drafted) {
      const record = this.#recordOf(sequence);
      for (const index of draftTokenIds.keys()) {
        this.#numDraftTokens[originOf(record.kindAt(index))]++;
      }
    }
  }

  /** The length of draft that promises the most tokens per second. */
  #prospect(segment: Segment, numSequences: number): Prospect {
    const { sequence, start } = segment;
    const { costs, states = null, maxTokens, maxNumBatchedTokens } = this.#options;
    const source = this.#sourceFor(sequence) ?? this.#options.source;
    const record = this.#recordOf(sequence);
    // The step gives one token more than it drafts, and must not pass the request's limit.
    const numLeft = sequence.request.maxTokens - sequence.numOutputTokens - 1;
    const numFree = Math.floor(maxNumBatchedTokens / numSequences) - 1;
    const most = Math.min(
      maxTokens,
      numLeft,
      numFree,
      states?.maxDraftTokens(sequence) ?? Infinity,
    );
    const longest = Math.max(0, most);
    const draft = source.isFree ? source.draft(sequence, longest, record.rate) : null;
    const none = { length: 0, numExpected: 1, ms: Infinity };
    let best: Prospect = { segment, record, source, draft, ...none };
    const plainMs = costs.verifyMs(start, 0);
    let [numExpected, chance, againMs] = [1, 1, 0];
    for (let length = 1; length <= (draft?.tokenIds.length ?? longest); length++) {
      const rate = record.rate(draft?.kinds[length - 1] ?? 0);
      const verifyMs = costs.verifyMs(start, length);
      // Where this token is the first wrong one, as many before it run once more beside the next.
      if (states) againMs += chance * (1 - rate) * (verifyMs - plainMs);
      chance *= rate;
      numExpected += chance;
      const ms = verifyMs + source.costMs(length) + againMs;
      if (numExpected / ms > best.numExpected / best.ms) {
        best = { ...best, length, numExpected, ms };
      }
    }
    return best;
  }

  #isWorthIt(
    prospects: readonly Prospect[],
    decode: readonly Segment[],
    areCostly: boolean,
  ): boolean {
    if (prospects.some(({ length }) => length === 0)) return false;
    const pays = this.#pays(prospects, decode);
    if (!areCostly) return pays;
    // Whether costly drafts pay is known only by trying them.
    const { isTrial } = this.#backoff;
    this.#backoff.judge(pays);
    return pays || isTrial;
  }

  #pays(prospects: readonly Prospect[], decode: readonly Segment[]): boolean {
    const plainMs = this.#options.costs.plainMs(decode);
    const ms = prospects.reduce((sum, prospect) => sum + prospect.ms, 0);
    return prospects.every(({ numExpected }) => numExpected * plainMs >= this.#minGain * ms);
  }

  /** Drafts for all, or none when there is no draft or no memory for one of them. */
  #withDrafts(prospects: readonly Prospect[]): Segment[] {
    const { kvCache } = this.#options;
    const drafted: Segment[] = [];
    for (const { segment, record, source, draft: made, length } of prospects) {
      const { sequence } = segment;
      if (!kvCache.grow(sequence, sequence.numTokens + length)) return [];
      const draft = made ?? source.draft(sequence, length, record.rate);
      const draftTokenIds = draft.tokenIds.slice(0, length);
      if (draftTokenIds.length === 0) return [];
      record.remember(sequence, draft);
      drafted.push(withDraft(segment, draftTokenIds));
    }
    for (const { sequence, draftTokenIds } of drafted) {
      this.#sourceFor(sequence)?.announce?.(sequence, draftTokenIds);
    }
    return drafted;
  }

  /** A draft that was made anyway can be compared with the text without being verified. */
  #watch(prospects: readonly Prospect[]): void {
    for (const { segment, record, draft } of prospects) {
      if (draft) record.remember(segment.sequence, draft);
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
