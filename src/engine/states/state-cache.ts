import { provenLength } from '../prompt-embeddings.ts';
import { PUBLIC_SALT } from '../request.ts';
import type { Sequence } from '../sequence.ts';
import type { Segment } from '../step.ts';
import { type SharedText, Snapshots } from './snapshots.ts';
import { NO_ROW, StateRows } from './state-rows.ts';

/**
 * Tokens that a state may be behind its sequence: so many are computed again beside the next one, as after
 * a draft of which a part came true. More are planned anew.
 */
const MAX_BEHIND = 64;

export interface StateCacheOptions {
  /** Rows of the pools: two for each sequence that runs, and those of snapshots. */
  readonly numRows: number;
  /** Tokens between the snapshots of a text. */
  readonly spacing: number;
  /** Fewest tokens that a snapshot is to save: those of the shortest text that it is of any use for. */
  readonly minLength: number;
  /** Keep snapshots for prompts that begin alike. */
  readonly prefixCaching?: boolean;
}

/** Where a running sequence's state is. */
interface Progress {
  /** Row of the state after `position` tokens; NO_ROW before the first. */
  row: number;
  position: number;
  /** Row that a run writes the state after `nextPosition` tokens to; NO_ROW before the first run. */
  next: number;
  nextPosition: number;
  /** Tokens that another text begins with, too: place of a snapshot. 0 if it has none. */
  readonly branch: number;
  /** Text of the last snapshot on the way. */
  text: SharedText | null;
}

/** Rows that a run reads a sequence's state from, and writes it to. */
export interface RunRows {
  readonly from: number;
  readonly to: number;
}

/**
 * Which row of the states' pools holds what: the states of running sequences, and snapshots after texts.
 * A run reads one row and writes another, which nobody reads before commit. So a run that fails changes
 * nothing, and a snapshot is a row that is not given back. Bookkeeping alone: nothing is ever copied.
 */
export class StateCache {
  readonly spacing: number;
  readonly rows: StateRows;
  readonly #snapshots = new Snapshots();
  readonly #minLength: number;
  readonly #prefixCaching: boolean;
  readonly #running = new Map<Sequence, Progress>();
  /** Most tokens that a sequence was found to share with another text. */
  readonly #shared = new WeakMap<Sequence, number>();

  constructor({ numRows, spacing, minLength, prefixCaching = true }: StateCacheOptions) {
    this.rows = new StateRows(numRows);
    this.spacing = spacing;
    this.#minLength = minLength;
    this.#prefixCaching = prefixCaching;
  }

  get numRows(): number {
    return this.rows.numRows;
  }

  /** In the order in which they make way. */
  get snapshots() {
    return this.#snapshots.inOrder();
  }

  /** Tokens of the longest beginning of a text, up to `length`, that there is a state after; may be 0. */
  longest(salt: string, tokenIds: Int32Array, length: number): number {
    return this.#snapshots.longest(salt, tokenIds, length)?.text.length ?? 0;
  }

  /**
   * Tokens that there is a state after, of `shared` that a sequence has in common with another text; may be 0. It
   * leaves a snapshot where the two part: the next one that begins like both, with the same system prompt say, goes
   * on from there.
   */
  longestShared(sequence: Sequence, salt: string, shared: number): number {
    this.#shared.set(sequence, Math.max(shared, this.#shared.get(sequence) ?? 0));
    return this.longest(salt, sequence.tokenIds(), shared);
  }

  /** A sequence got a slot: it begins with the snapshot after its computed tokens. */
  begin(sequence: Sequence): void {
    const position = sequence.numComputedTokens;
    const shared = this.#shared.get(sequence) ?? 0;
    // Rounded, since the next words of two texts may be alike by chance, and a third one's are others.
    const branch = shared - (shared % this.#minLength);
    const progress = {
      position,
      row: NO_ROW,
      next: NO_ROW,
      nextPosition: position,
      branch: branch - position < this.#minLength ? 0 : branch,
      text: null,
    };
    this.#running.set(sequence, position === 0 ? progress : { ...progress, ...this.#at(sequence) });
  }

  /** Rows of a run that computes the segment; the same if it is run again. */
  rowsOf({ sequence, start, numTokens }: Segment): RunRows {
    const progress = this.#progressOf(sequence);
    if (progress.position !== start) {
      throw new Error(`sequence ${sequence.id} has a state of ${progress.position}, not ${start}`);
    }
    if (progress.next === NO_ROW) progress.next = this.#take();
    progress.nextPosition = start + numTokens;
    return { from: progress.row, to: progress.next };
  }

  /**
   * The tokens that a sequence counts as computed are so. Where these are not all of its last run, since
   * nothing was sampled after it or a draft came true in part, there is no state after them: it stays the
   * one before the run.
   */
  advance(sequence: Sequence): void {
    const progress = this.#progressOf(sequence);
    if (sequence.numComputedTokens !== progress.nextPosition) {
      if (this.numBehind(sequence) > MAX_BEHIND) sequence.numComputedTokens = progress.position;
      return;
    }
    if (progress.nextPosition === progress.position) return;
    this.rows.giveBack(progress.row);
    progress.row = progress.next;
    progress.position = progress.nextPosition;
    progress.next = NO_ROW;
    const { position, branch } = progress;
    const isBorder = position % this.spacing === 0 || position === branch;
    if (isBorder || position === sequence.numPromptTokens) this.#keep(sequence, progress);
  }

  /** Computed tokens of a sequence that its state is not after: a run begins with them. */
  numBehind(sequence: Sequence): number {
    return sequence.numComputedTokens - this.#progressOf(sequence).position;
  }

  /** The first place of a snapshot of a sequence after so many tokens. */
  borderAfter(sequence: Sequence, position: number): number {
    const { branch } = this.#progressOf(sequence);
    const border = position - (position % this.spacing) + this.spacing;
    return position < branch && branch < border ? branch : border;
  }

  /**
   * Longest draft after a sequence's last token. One that is behind catches up first: else its state would
   * stay where it is as long as its drafts come true in part. None passes the place of a snapshot.
   */
  maxDraftTokens(sequence: Sequence): number {
    const { numTokens } = sequence;
    return this.numBehind(sequence) > 0 ? 0 : this.borderAfter(sequence, numTokens - 1) - numTokens;
  }

  /** A sequence gave up its slot. @param keep leave its state for reuse */
  end(sequence: Sequence, keep: boolean): void {
    const progress = this.#progressOf(sequence);
    if (keep) this.#keep(sequence, progress);
    this.rows.giveBack(progress.row);
    this.rows.giveBack(progress.next);
    this.#running.delete(sequence);
  }

  #progressOf(sequence: Sequence): Progress {
    const progress = this.#running.get(sequence);
    if (!progress) throw new Error(`sequence ${sequence.id} does not run`);
    return progress;
  }

  /** Takes hold of the state after the sequence's computed tokens. */
  #at(sequence: Sequence): Pick<Progress, 'row' | 'text'> {
    const { request, numComputedTokens: length } = sequence;
    for (const salt of [request.cacheSalt, PUBLIC_SALT]) {
      const found = this.#snapshots.longest(salt, sequence.tokenIds(), length);
      if (found?.text.length !== length) continue;
      this.#snapshots.use(found);
      this.rows.hold(found.row);
      return { row: found.row, text: found.text };
    }
    throw new Error(`there is no state after ${length} tokens of sequence ${sequence.id}`);
  }

  /** Makes a snapshot of the sequence's state. */
  #keep(sequence: Sequence, progress: Progress): void {
    const { row, position: length, text: parent } = progress;
    const { cacheSalt: salt, background } = sequence.request;
    if (!this.#prefixCaching || length < this.#minLength || parent?.length === length) return;
    // Images can only be told apart by several of their ids.
    const tokenIds = sequence.tokenIds(parent?.length, length).slice();
    if (provenLength(sequence.tokenIds(), length) < length) return;
    const text = { parent, tokenIds, length };
    this.rows.hold(row);
    const before = this.#snapshots.add({ row, salt, text, isPinned: background === 'pin' });
    if (before) this.rows.giveBack(before.row);
    progress.text = text;
  }

  /** A free row, if need be that of the snapshot unused for longest. */
  #take(): number {
    const row = this.rows.take();
    if (row !== NO_ROW) return row;
    for (const snapshot of this.#snapshots.inOrder()) {
      // A row that running sequences still read would not be free without it.
      if (this.rows.numHolders(snapshot.row) > 1) continue;
      this.#snapshots.remove(snapshot);
      this.rows.giveBack(snapshot.row);
      return this.rows.take();
    }
    throw new Error(`none of ${this.numRows} rows is free`);
  }
}
