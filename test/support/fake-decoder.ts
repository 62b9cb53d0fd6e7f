import { SlotLayout, widthOf } from '../../src/engine/cpu/slot-layout.ts';
import type { EngineRequest } from '../../src/engine/request.ts';
import type { StateCache } from '../../src/engine/states/state-cache.ts';
import type { TimedRun } from '../../src/engine/timed-run.ts';
import type { CacheOperation } from '../../src/engine/cache-operation.ts';
import type { FakeWindows } from './fake-windows.ts';
import {
  type Decoder,
  type Segment,
  type SegmentLogits,
  type SequenceFailure,
  type StepPlan,
  type StepResult,
  tokenIdsOf,
} from '../../src/engine/step.ts';

export const FAKE_VOCAB_SIZE = 97;
/** Token that dead slots write, and the one that pads prompts. */
const DEAD_TOKEN = -1;
const PADDING = -2;
/** Token that a run which fails leaves in the row that it was to write. */
const LOST = -3;

/** Token that the fake model says after a text: depends on every token and its place. */
export function fakeNextToken(tokenIds: Iterable<number>): number {
  let hash = 17;
  let position = 0;
  for (const tokenId of tokenIds) hash = (Math.imul(hash, 31) + tokenId * (++position + 7)) >>> 0;
  return hash % FAKE_VOCAB_SIZE;
}

/** Tokens that the request gives on an engine of its own. */
export function fakeContinuation({
  promptTokenIds,
  outputTokenIds,
  maxTokens,
  stopTokenIds,
}: EngineRequest): number[] {
  const text = [...promptTokenIds, ...outputTokenIds];
  const tokens: number[] = [];
  while (tokens.length + outputTokenIds.length < maxTokens) {
    const next = fakeNextToken(text);
    text.push(next);
    tokens.push(next);
    if (stopTokenIds.includes(next)) break;
  }
  return tokens;
}

/**
 * A model whose KV cache is the tokens themselves: slots are really written, moved and read, so a plan
 * or a layout that computes the wrong token, or reads what another sequence wrote, gives another text.
 */
export class FakeDecoder implements Decoder {
  readonly slots: number[][];
  readonly capacity: number;
  /** Sequences whose next run fails. */
  readonly failing = new Set<number>();
  /** Sequences after whose next run nothing can be sampled. */
  readonly withheld = new Set<number>();
  numExecutions = 0;
  /** Runs of several prompts, padded. */
  numJoinedRuns = 0;
  /** Slots that decode runs computed for nobody. */
  numDeadTokens = 0;
  /** [rows] Texts that the states are after. */
  readonly rows: number[][] = [];
  readonly #layout: SlotLayout;
  readonly #states: StateCache | null;
  readonly #windows: FakeWindows | null;

  /** @param states that it has beside its slots @param windows of layers that have one */
  constructor(
    numSlots: number,
    capacity: number,
    layout = new SlotLayout({}),
    states: StateCache | null = null,
    windows: FakeWindows | null = null,
  ) {
    this.#states = states;
    this.#windows = windows;
    this.slots = Array.from({ length: numSlots }, () => []);
    this.capacity = capacity;
    this.#layout = layout;
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    this.numExecutions += 1;
    for (const operation of cacheOperations) this.#apply(operation);
    const { decode, prefill, verify, ...layout } = this.#layout.runsOf(segments);
    for (const operation of layout.cacheOperations) this.#apply(operation);
    const timedRuns: TimedRun[] = [];
    const none = { decode: [], prefill: [], verify: [], ms: 1 };
    for (const [slot, { segment, start }] of decode.entries()) {
      this.#write(slot, start, segment ? tokenIdsOf(segment) : [DEAD_TOKEN]);
      if (segment === null) this.numDeadTokens += 1;
      else if (segment.sequence.slot !== slot) {
        throw new Error(`slot ${slot} decodes the sequence of ${segment.sequence.slot}`);
      }
    }
    if (decode.length > 0) timedRuns.push({ ...none, decode });
    for (const run of prefill) {
      const width = widthOf(run);
      this.numJoinedRuns += Number(run.length > 1);
      for (const [index, segment] of run.entries()) {
        const { sequence, start, numTokens } = segment;
        if (sequence.slot !== (run[0]?.sequence.slot ?? 0) + index)
          throw new Error('slots not adjacent');
        if (run.length > 1 && start !== 0) throw new Error('only fresh prompts run together');
        const padding = Array.from({ length: width - numTokens }, () => PADDING);
        this.#write(sequence.slot, start, [...tokenIdsOf(segment), ...padding]);
      }
      const spans = run.map(({ start }) => ({ start, length: width }));
      timedRuns.push({ ...none, prefill: spans });
    }
    for (const segment of verify) {
      const { sequence, start, numTokens: length } = segment;
      this.#write(sequence.slot, start, tokenIdsOf(segment));
      timedRuns.push({ ...none, verify: [{ start, length }] });
    }
    this.#runStates(segments);
    for (const segment of segments) this.#windows?.check(segment);
    return { ...this.#resultsOf(segments), timedRuns };
  }

  /** Reads every sequence's state, which must be of its own text, and writes the one after the segment. */
  #runStates(segments: readonly Segment[]): void {
    const states = this.#states;
    if (!states) return;
    const runs = segments.map((segment) => ({ segment, ...states.rowsOf(segment) }));
    const written = new Set(runs.map(({ to }) => to));
    if (written.size < runs.length) throw new Error('two sequences write one row');
    for (const { segment, from, to } of runs) {
      const { sequence, start } = segment;
      if (from === to || written.has(from)) throw new Error(`row ${from} is read and written`);
      const before = from < 0 ? [] : (this.rows[from] ?? []);
      const own = [...sequence.tokenIds(0, start)];
      if (before.join() !== own.join()) throw new Error(`row ${from} has a state of another text`);
      const isLost = this.failing.has(sequence.id);
      this.rows[to] = [...before, ...(isLost ? [LOST] : tokenIdsOf(segment))];
    }
  }

  /** Pages that hold anything. */
  touchedPages(pageLength: number): number {
    return this.slots.reduce((sum, cells) => sum + Math.ceil(cells.length / pageLength), 0);
  }

  /** Positions of a slot as a prefix tier saves them: their tokens. */
  read(slot: number, start: number, numPositions: number): Uint8Array {
    const tokenIds = this.#slot(slot).slice(start, start + numPositions);
    return new Uint8Array(Int32Array.from(tokenIds).buffer);
  }

  #resultsOf(segments: readonly Segment[]): Pick<StepResult, 'logits' | 'failures'> {
    const logits: SegmentLogits[] = [];
    const failures: SequenceFailure[] = [];
    for (const segment of segments) {
      const { sequence, start, numTokens, numLogits } = segment;
      const isStray = tokenIdsOf(segment).some((tokenId) => tokenId >= FAKE_VOCAB_SIZE);
      if (isStray || this.failing.has(sequence.id)) {
        failures.push({ sequence, message: 'made to fail' });
      } else if (numLogits > 0 && !this.withheld.delete(sequence.id)) {
        const first = start + numTokens - numLogits + 1;
        const rows = Array.from({ length: numLogits }, (_, index) =>
          this.#logits(sequence.slot, first + index),
        );
        logits.push({ segment, logits: rows });
      }
    }
    return { logits, failures };
  }

  #apply(operation: CacheOperation): void {
    this.#windows?.apply(operation);
    if (operation.type === 'discard') {
      if (operation.isWindowed) return;
      this.#slot(operation.slot).splice(operation.start);
      return;
    }
    if (operation.type === 'load') {
      const tokenIds = operation.blocks.flatMap(({ buffer, byteOffset, byteLength }) => [
        ...new Int32Array(buffer, byteOffset, byteLength / Int32Array.BYTES_PER_ELEMENT),
      ]);
      this.#slot(operation.slot).splice(operation.start, tokenIds.length, ...tokenIds);
      return;
    }
    const copied = this.#slot(operation.from).slice(0, operation.length);
    if (copied.length < operation.length) throw new Error(`slot ${operation.from} is too short`);
    this.#slot(operation.to).splice(0, operation.length, ...copied);
  }

  release(): void {}

  #slot(slot: number): number[] {
    const cells = this.slots[slot];
    if (!cells) throw new Error(`there is no slot ${slot}`);
    return cells;
  }

  #write(slot: number, position: number, tokenIds: ArrayLike<number>): void {
    if (position + tokenIds.length > this.capacity) throw new Error(`slot ${slot} overflows`);
    this.#windows?.write(slot, position, tokenIds);
    const cells = this.#slot(slot);
    if (position > cells.length) throw new Error(`slot ${slot} has a gap before ${position}`);
    cells.splice(position, tokenIds.length, ...Array.from(tokenIds));
  }

  #logits(slot: number, length: number): Float32Array {
    const logits = new Float32Array(FAKE_VOCAB_SIZE);
    logits[fakeNextToken(this.#slot(slot).slice(0, length))] = 1;
    return logits;
  }
}
