import { type DecodeSlot, layOutDecode, type SlotTable } from '../kv-cache/slot-table.ts';
import type { CostModel } from '../costs/cost-model.ts';
import type { CacheOperation } from '../cache-operation.ts';
import type { Segment } from '../step.ts';

/** Segments of neighbouring slots that run together: one of any kind, or several whole prompts. */
export type SlotRun = readonly Segment[];

/** The runs of a step. */
export interface SlotRuns {
  /** One token each, from slot 0 on; empty when nothing decodes. */
  readonly decode: readonly DecodeSlot[];
  /** Prompts, padded to the longest of a run. The first run can be mixed with the decode run. */
  readonly prefill: readonly SlotRun[];
  /** A token with its draft each. */
  readonly verify: readonly Segment[];
  /** To be done to the memory first: room for the padding. */
  readonly cacheOperations: readonly CacheOperation[];
}

export interface SlotLayoutOptions {
  /** Owners of the slots; null where that is not known: then only neighbours decode together. */
  readonly slots?: SlotTable | null;
  /** Predicts the time of prefill runs; null makes every prompt a run of its own. */
  readonly costs?: Pick<CostModel, 'prefillMs'> | null;
  /** A prompt's last token never decodes: a decode run rounds differently from prefill. */
  readonly reproducible?: boolean;
}

/** Makes runs of a step's segments, for a graph that takes contiguous slots and one width of tokens. */
export class SlotLayout {
  readonly #slots: SlotTable | null;
  readonly #costs: Pick<CostModel, 'prefillMs'> | null;
  readonly #reproducible: boolean;

  constructor({ slots = null, costs = null, reproducible = false }: SlotLayoutOptions) {
    this.#slots = slots;
    this.#costs = costs;
    this.#reproducible = reproducible;
  }

  runsOf(segments: readonly Segment[]): SlotRuns {
    const decoding: Segment[] = [];
    const chunks: Segment[] = [];
    const verify: Segment[] = [];
    for (const segment of segments) {
      if (segment.draftTokenIds.length > 0) verify.push(segment);
      else if (this.#decodes(segment)) decoding.push(segment);
      else chunks.push(segment);
    }
    const { run: decode, others } = layOutDecode(decoding, this.#slots);
    const prefill = this.#joinFresh([...chunks, ...others]);
    const cacheOperations = this.#slots?.drainOperations() ?? [];
    return { decode, prefill, verify, cacheOperations };
  }

  #decodes({ sequence, start, numTokens, numLogits }: Segment): boolean {
    if (numTokens > 1 || numLogits === 0) return false;
    return !this.#reproducible || sequence.scoresPrompt || start >= sequence.numPromptTokens;
  }

  /**
   * Puts whole fresh prompts in neighbouring slots into one run, padded to the longest, where that
   * costs less than a run for each.
   */
  #joinFresh(chunks: readonly Segment[]): SlotRun[] {
    const runs: Segment[][] = [];
    for (const chunk of chunks.toSorted((a, b) => a.sequence.slot - b.sequence.slot)) {
      const run = runs.at(-1);
      if (run && canFollow(chunk, run) && this.#saves(run, chunk) && this.#pads([...run, chunk])) {
        run.push(chunk);
      } else {
        runs.push([chunk]);
      }
    }
    return runs;
  }

  #saves(run: SlotRun, chunk: Segment): boolean {
    const costs = this.#costs;
    if (!costs) return false;
    const msOf = (segments: SlotRun) => costs.prefillMs(paddedSpans(segments, widthOf(segments)));
    return msOf([...run, chunk]) < msOf(run) + msOf([chunk]);
  }

  /** Makes sure of memory for all to be as long as the longest. */
  #pads(run: SlotRun): boolean {
    const width = widthOf(run);
    return run.every(({ sequence }) => this.#slots?.grow(sequence, width) ?? true);
  }
}

/** Tokens of the longest segment. */
export function widthOf(run: SlotRun): number {
  return run.reduce((longest, { numTokens }) => Math.max(longest, numTokens), 0);
}

/** Spans that a run computes when each of its segments is padded to `width`. */
export function paddedSpans(run: SlotRun, width: number) {
  return run.map(({ start }) => ({ start, length: width }));
}

export function firstSlotOf(run: SlotRun): number {
  return Math.min(...run.map(({ sequence }) => sequence.slot));
}

function canFollow(chunk: Segment, run: SlotRun): boolean {
  const before = run.at(-1);
  const isNeighbour = before?.sequence.slot === chunk.sequence.slot - 1;
  return isNeighbour && isWhole(before) && isWhole(chunk);
}

/** All of a sequence's tokens, so that nothing of it is cached yet. */
function isWhole({ sequence, numTokens }: Segment): boolean {
  return numTokens === sequence.numTokens;
}
