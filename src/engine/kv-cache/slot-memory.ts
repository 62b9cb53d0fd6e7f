import { byLastUse, type Slot } from './slot.ts';
import type { PageCounts } from './kv-cache.ts';
import type { PrefixIndex } from './prefix-index.ts';
import type { CacheOperation } from '../cache-operation.ts';
import type { SlotPages } from '../windows/window-budget.ts';

export interface SlotMemoryOptions {
  readonly slots: readonly Slot[];
  readonly index: PrefixIndex;
  /** Positions of a slot that are given memory together. */
  readonly pageLength: number;
  /** How many pages positions of a slot take. */
  readonly pages: SlotPages;
  /** Memory to use at most, in pages of one slot. */
  readonly maxPages: number;
  /** Receives operations on the memory. */
  readonly schedule: (operation: CacheOperation) => void;
}

/**
 * Counts which pages of which slots are backed by memory, and keeps them within the budget: by giving
 * back what nobody needs, then texts of finished sequences.
 */
export class SlotMemory {
  readonly #options: SlotMemoryOptions;
  #numResidentPages = 0;

  constructor(options: SlotMemoryOptions) {
    this.#options = options;
  }

  /** Pages that may be backed by memory. */
  get numResidentPages(): number {
    return this.#numResidentPages;
  }

  get counts(): PageCounts {
    const { slots, pageLength, maxPages } = this.#options;
    let [running, kept] = [0, 0];
    for (const { owner, livePages } of slots) {
      if (owner === null) kept += livePages;
      else running += livePages;
    }
    const bySlot = slots.map(({ livePages }) => livePages);
    return { length: pageLength, total: maxPages, running, kept, bySlot };
  }

  /** Pages that hold that many tokens. */
  pagesOf(numTokens: number): number {
    return this.#options.pages.pagesOf(numTokens);
  }

  /** Whether `pages` more could be resident without touching what runs, or the slots in `kept`. */
  hasRoom(pages: number, kept: readonly Slot[]): boolean {
    let room = this.#free;
    for (const slot of this.#options.slots) {
      if (!kept.includes(slot)) room += slot.residentPages - (slot.owner ? slot.livePages : 0);
    }
    return pages <= room;
  }

  /**
   * Gives memory back until `pages` more fit the budget: first what nobody needs, then the texts
   * that were not used for longest.
   * @returns false, and changes nothing, when that is not enough
   */
  makeRoom(pages: number, kept: readonly Slot[]): boolean {
    if (pages <= this.#free) return true;
    if (!this.hasRoom(pages, kept)) return false;
    const others = this.#options.slots.filter((slot) => !kept.includes(slot));
    for (const slot of others) {
      if (pages > this.#free) this.#trim(slot);
    }
    const cached = others.filter((slot) => slot.cached !== null).sort(byLastUse);
    for (const slot of cached) {
      if (pages <= this.#free) break;
      this.drop(slot);
      this.#trim(slot);
    }
    return true;
  }

  /**
   * Sets how many pages a slot needs from now on. Memory that it no longer needs stays until it is
   * needed elsewhere.
   */
  setLive(slot: Slot, livePages: number): void {
    slot.livePages = livePages;
    if (slot.residentPages >= livePages) return;
    this.#numResidentPages += livePages - slot.residentPages;
    slot.residentPages = livePages;
  }

  /** Forgets an idle slot's text. */
  drop(slot: Slot): void {
    slot.cached = null;
    slot.livePages = 0;
    this.#options.index.remove(slot.index);
  }

  get #free(): number {
    return this.#options.maxPages - this.#numResidentPages;
  }

  /** Gives back the memory that a slot holds and does not need. */
  #trim(slot: Slot): void {
    const { residentPages, livePages } = slot;
    if (residentPages === livePages) return;
    const { pages, schedule } = this.#options;
    const [start, end] = [pages.positionsOf(livePages), pages.positionsOf(residentPages)];
    schedule({ type: 'discard', slot: slot.index, start, end });
    this.#numResidentPages -= residentPages - livePages;
    slot.residentPages = livePages;
  }
}
