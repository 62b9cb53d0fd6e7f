import type { CostModel } from '../costs/cost-model.ts';
import type { KvCache } from '../kv-cache/kv-cache.ts';
import type { Scheduler } from '../scheduling/scheduler.ts';
import type { Sequence } from '../sequence.ts';
import type {
  SampledSegment,
  SampledToken,
  Segment,
  StepOutcome,
  StepPlan,
  StepResult,
} from '../step.ts';
import { CellTable } from './cell-table.ts';
import { MAX_TOLD_WAITING, SENT_BACK_FOR, type SlotWork, type StepRecord } from './step-record.ts';

/** Parts of the engine that are observed. */
export interface TappedParts {
  readonly scheduler: Pick<Scheduler, 'running' | 'waiting' | 'sentBack'>;
  readonly kvCache: Pick<KvCache, 'numSlots' | 'pages' | 'keptLength'>;
  readonly costs: Pick<CostModel, 'expectedMs'>;
  /** A clock of Unix time in milliseconds; the system's if left out. */
  readonly now?: () => number;
}

/** Makes records of an engine's iterations, as long as somebody watches. */
export class StepTap {
  readonly #parts: TappedParts;
  readonly #every: number;
  readonly #table: CellTable;
  /** Set from `begin` to `observe`, in steps that are recorded. */
  #begun: { readonly step: number; readonly startedAt: number } | null = null;
  /** Those that had slots before the plan. */
  readonly #known = new Set<Sequence>();
  #record: StepRecord | null = null;

  /** @param every records one iteration of this many */
  constructor(parts: TappedParts, every: number) {
    this.#parts = parts;
    this.#every = every;
    this.#table = new CellTable(parts.kvCache.numSlots);
  }

  /** To be called before a step is planned. */
  begin(step: number): void {
    this.#begun = null;
    if (step % this.#every !== 0) return;
    const { scheduler, now = unixMs } = this.#parts;
    for (const sequence of this.#known) if (sequence.slot === -1) this.#known.delete(sequence);
    for (const sequence of scheduler.running) this.#known.add(sequence);
    this.#begun = { step, startedAt: now() };
  }

  /** To be called before the step is committed: its sequences still have their slots and lengths. */
  observe({ segments }: StepPlan, { timedRuns }: StepResult, outcome: StepOutcome): void {
    if (this.#begun === null) return;
    const { scheduler, kvCache, costs, now = unixMs } = this.#parts;
    const { waiting, sentBack } = scheduler;
    const { bySlot, ...pages } = kvCache.pages;
    this.#record = {
      ...this.#begun,
      ms: now() - this.#begun.startedAt,
      runMs: timedRuns.reduce((sum, { ms }) => sum + ms, 0),
      predictedMs: timedRuns.reduce((sum, run) => sum + costs.expectedMs(run), 0),
      cells: this.#cellsOf(segments, outcome, bySlot),
      waiting: Float64Array.from(waiting.slice(0, MAX_TOLD_WAITING), ({ id }) => id),
      numWaiting: waiting.length,
      sentBack: Float64Array.from(
        sentBack.flatMap((each) => [each.id, each.slot, SENT_BACK_FOR.indexOf(each.for)]),
      ),
      pages,
    };
    // Background prefills are not among the running sequences.
    for (const { sequence } of segments) this.#known.add(sequence);
  }

  /** The last step's record, once; null if it was not recorded. */
  take(): StepRecord | null {
    const record = this.#record;
    this.#record = null;
    return record;
  }

  #cellsOf(
    segments: readonly Segment[],
    { sampled, failures }: StepOutcome,
    pagesBySlot: ArrayLike<number>,
  ): Float64Array {
    const { scheduler, kvCache } = this.#parts;
    const outcomes = new Map<Sequence, SampledSegment>();
    for (const each of sampled) outcomes.set(each.segment.sequence, each);
    const failed = new Set(failures.map(({ sequence }) => sequence));
    const table = this.#table;
    table.reset(pagesBySlot);
    for (const segment of segments) {
      const { sequence, start, numTokens, draftTokenIds } = segment;
      const own = outcomes.get(sequence);
      const work = failed.has(sequence) ? 'failed' : workOf(segment, own);
      const tokens = own?.tokens ?? [];
      table.add(sequence.slot, sequence.id, work, {
        start,
        computed: numTokens,
        sampled: tokens.length,
        cached: this.#isNew(sequence) ? start : 0,
        drafted: draftTokenIds.length,
        accepted: numAccepted(draftTokenIds, tokens),
      });
    }
    for (const sequence of scheduler.running) {
      const { slot, id, numComputedTokens: start } = sequence;
      if (table.has(slot)) continue;
      table.add(slot, id, 'held', { start, cached: this.#isNew(sequence) ? start : 0 });
    }
    for (let slot = 0; slot < kvCache.numSlots; slot++) {
      const computed = table.has(slot) ? 0 : kvCache.keptLength(slot);
      if (computed > 0) table.add(slot, 0, 'kept', { computed });
    }
    return table.toCells();
  }

  /** Whether it got its slot in this step. */
  #isNew(sequence: Sequence): boolean {
    const { sentBack } = this.#parts.scheduler;
    return !this.#known.has(sequence) || sentBack.some(({ id }) => id === sequence.id);
  }
}

function unixMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Tokens of a draft that came true. */
function numAccepted(draftTokenIds: Int32Array, tokens: readonly SampledToken[]): number {
  if (draftTokenIds.length === 0) return 0;
  return tokens.filter(({ tokenId }, at) => tokenId === draftTokenIds[at]).length;
}

function workOf(
  { sequence, start, numTokens, numLogits, draftTokenIds }: Segment,
  sampled: SampledSegment | undefined,
): SlotWork {
  const isWanted = numLogits > 0 && !sequence.scoresPrompt;
  if (isWanted && sampled === undefined) return 'grammar';
  if (draftTokenIds.length > 0) return 'verify';
  return start < sequence.numPromptTokens || numTokens > 1 ? 'prefill' : 'decode';
}
