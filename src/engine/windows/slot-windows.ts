import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../cache-operation.ts';
import { intersect, type PageRanges, subtract, union } from './page-ranges.ts';
import type { WindowBudget } from './window-budget.ts';

/** A slot's memory in the layers that have a window. */
interface Windows {
  /** Pages that may be backed by memory. */
  readonly present: PageRanges;
  /** First page of the text's end: all before it went back, but for kept windows. */
  readonly slid: number;
  /** Lengths of beginnings whose windows are kept; 0 for none. */
  readonly kept: Kept;
}

interface Kept {
  /** Where another text went on in its own way: like the end of a system prompt. */
  readonly branch: number;
  /** The end of the prompt: the next turn may leave out what was thought after it. */
  readonly prompt: number;
}

/** Tokens of the shortest beginning whose window is kept. */
const LEAST_BRANCH = 16;

const NOTHING: Windows = { present: [], slid: 0, kept: { branch: 0, prompt: 0 } };

/**
 * Which positions of slots the layers with a sliding window still hold. Behind the window of a text's end
 * they go back, but for windows that prompts which begin alike go on from: so such a prompt begins at the
 * longest prefix whose window is whole. Bookkeeping alone, like that of the slots: it adds operations on
 * windowed layers to theirs.
 */
export class SlotWindows {
  readonly budget: WindowBudget;
  readonly #bySlot: Windows[] = [];
  readonly #operations: (operation: CacheOperation) => void;
  /** The prompt looked for last, and the longest beginning that a slot would have had without windows. */
  #wanted: { readonly tokenIds: Int32Array; missed: number } | null = null;

  /** @param operations receives operations on windowed layers */
  constructor(budget: WindowBudget, operations: (operation: CacheOperation) => void) {
    this.budget = budget;
    this.#operations = operations;
  }

  /** Slots that ever had something. */
  get slots(): Iterable<number> {
    return this.#bySlot.keys();
  }

  /** Pages of a slot that windowed layers may have memory for. */
  presentOf(slot: number): PageRanges {
    return this.#at(slot).present;
  }

  /** Tokens of the longest beginning, up to `length`, of a slot's text whose window is there; may be 0. */
  longest(tokenIds: Int32Array, slot: number, length: number): number {
    if (this.#wanted?.tokenIds !== tokenIds) this.#wanted = { tokenIds, missed: 0 };
    const best = this.#within(this.#at(slot).present, length);
    if (best < length) this.#wanted.missed = Math.max(this.#wanted.missed, length);
    return best;
  }

  /** A sequence got its slot, with the keys and values of its computed tokens. */
  begin(sequence: Sequence): void {
    const { slot, numComputedTokens: length, numPromptTokens: prompt, numTokens } = sequence;
    const before = this.#at(slot);
    const after = this.#beginning(before, length);
    const isWhole = before.slid === 0 && after.slid === 0;
    // Nothing is known of a slot that a lost engine had, but what its text needs.
    const known: PageRanges = before === NOTHING ? [[0, after.slid]] : before.present;
    if (!isWhole) this.#giveBack(slot, subtract(known, after.present));
    const missed = this.#wanted?.tokenIds.length === numTokens - 1 ? this.#wanted.missed : 0;
    const isBranch = missed > length && missed >= LEAST_BRANCH;
    const branch = isBranch ? missed : keptWithin(before.kept, length).branch;
    const present = isWhole ? before.present : after.present;
    this.#bySlot[slot] = { present, slid: after.slid, kept: { branch, prompt } };
    this.#wanted = null;
  }

  /** The tokens that a sequence counts as computed are so: what is behind their window goes back. */
  advance({ slot, numComputedTokens: length }: Sequence): void {
    const { present, slid, kept } = this.#at(slot);
    const { stepTokens, capacity } = this.budget.shape;
    // The next step writes up to here, and leaves drafts there that come to nothing.
    const ahead = this.#pages(Math.min(length + stepTokens, capacity));
    const touched = union(present, [[slid, ahead]]);
    const end = touched.at(-1)?.[1] ?? ahead;
    if (end - slid <= this.budget.endPages) {
      this.#bySlot[slot] = { present: touched, slid, kept };
      return;
    }
    const first = Math.max(slid, this.#firstOf(length));
    const stays = intersect(touched, union([[first, Infinity]], this.#windowsOf(kept, touched)));
    this.#giveBack(slot, subtract(touched, stays));
    this.#bySlot[slot] = { present: stays, slid: first, kept };
  }

  /**
   * Takes note of an operation on all layers.
   * @returns the same, that of a copy with what windowed layers hold
   */
  follow(operation: CacheOperation): CacheOperation {
    if (operation.type === 'load') throw new Error('blocks are loaded into windows of a slot');
    if (operation.type === 'discard') {
      const { slot, start, end } = operation;
      const { pageLength } = this.budget.shape;
      const gone = [[Math.ceil(start / pageLength), Math.floor(end / pageLength)]] as const;
      const before = this.#at(slot);
      const present = subtract(before.present, gone);
      this.#bySlot[slot] = start === 0 ? NOTHING : { ...before, present };
      return operation;
    }
    const { from, to, length } = operation;
    const [source, target] = [this.#at(from), this.#at(to)];
    const after = this.#beginning(source, length);
    if (after.slid === 0 && target.slid === 0) {
      this.#bySlot[to] = { ...after, present: union(after.present, target.present) };
      return operation;
    }
    this.#giveBack(to, subtract(target.present, after.present));
    this.#bySlot[to] = after;
    return { ...operation, windows: this.#positionsOf(after.present) };
  }

  /** Rest of a slot's windows where a text goes on after `length` tokens. */
  #beginning({ present, slid, kept }: Windows, length: number): Windows {
    if (length === 0) return { ...NOTHING, kept };
    const end = this.#pages(length);
    if (present.length === 0) {
      const first = this.#firstOf(length);
      return { present: [[first, end]], slid: first, kept };
    }
    const own = present.find((range) => this.#within([range], length) === length);
    if (own === undefined) throw new Error(`the window before ${length} tokens is gone`);
    const first = slid === 0 ? 0 : own[0];
    const stays = union([[first, end]], this.#windowsOf(keptWithin(kept, length), present));
    return { present: intersect(present, stays), slid: first, kept };
  }

  /** Length of the longest beginning, up to `length`, whose window is wholly within one of the ranges. */
  #within(ranges: PageRanges, length: number): number {
    const { window, pageLength } = this.budget.shape;
    let best = 0;
    for (const [start, end] of ranges) {
      const most = Math.min(length, end * pageLength);
      if (Math.max(0, most - window) >= start * pageLength) best = Math.max(best, most);
    }
    return best;
  }

  #windowsOf({ branch, prompt }: Kept, present: PageRanges): PageRanges {
    const { prefixCaching } = this.budget.shape;
    if (!prefixCaching) return [];
    return union(
      ...[branch, prompt]
        .filter((length) => length > 0 && this.#within(present, length) === length)
        .map((length): PageRanges => [[this.#firstOf(length), this.#pages(length)]]),
    );
  }

  /** First page of the window before so many tokens, and of the margin. */
  #firstOf(length: number): number {
    const { heldLength, shape } = this.budget;
    return Math.max(0, Math.floor((length - heldLength) / shape.pageLength));
  }

  #giveBack(slot: number, ranges: PageRanges): void {
    for (const [start, end] of this.#positionsOf(ranges)) {
      this.#operations({ type: 'discard', slot, start, end, isWindowed: true });
    }
  }

  #positionsOf(ranges: PageRanges): [start: number, end: number][] {
    const { pageLength } = this.budget.shape;
    return ranges.map(([start, end]) => [start * pageLength, end * pageLength]);
  }

  #pages(length: number): number {
    return Math.ceil(length / this.budget.shape.pageLength);
  }

  #at(slot: number): Windows {
    return this.#bySlot[slot] ?? NOTHING;
  }
}

/** A text of which only so many tokens are left has no windows after them. */
function keptWithin({ branch, prompt }: Kept, length: number): Kept {
  return { branch: branch <= length ? branch : 0, prompt: prompt <= length ? prompt : 0 };
}
