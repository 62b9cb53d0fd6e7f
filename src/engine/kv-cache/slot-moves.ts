import type { CacheOperation } from '../cache-operation.ts';
import type { PrefixIndex } from './prefix-index.ts';
import { byLastUse, saltOf, type Slot, tokenIdsOf } from './slot.ts';
import type { SlotMemory } from './slot-memory.ts';

export interface SlotMovesOptions {
  readonly slots: readonly Slot[];
  readonly memory: SlotMemory;
  readonly index: PrefixIndex;
  /** Receives operations on the memory. */
  readonly schedule: (operation: CacheOperation) => void;
}

/** Moves what slots hold to other slots, so that each sequence and text is where it should be. */
export class SlotMoves {
  readonly #options: SlotMovesOptions;

  constructor(options: SlotMovesOptions) {
    this.#options = options;
  }

  /** Makes an idle slot's place free: its text moves to a slot above, or is given up. */
  vacate(slot: Slot, kept: Slot, needed: number): void {
    if (slot.cached && !this.moveAway(slot, kept, needed)) this.#options.memory.drop(slot);
  }

  /**
   * Moves an idle slot's text to a slot above, at the cost of the texts that were not used for longest.
   * @param needed pages that must also fit
   * @returns the text's new slot; null, and nothing is changed, when there is none or no memory
   */
  moveAway(slot: Slot, kept: Slot, needed: number): Slot | null {
    const { memory } = this.#options;
    const place = this.#placeAbove(slot, kept);
    if (!place) return null;
    const pages = Math.max(0, needed) + Math.max(0, slot.livePages - place.residentPages);
    const untouched = [slot, place, kept];
    if (!memory.hasRoom(pages, untouched)) return null;
    memory.drop(place);
    memory.makeRoom(pages, untouched);
    this.move(slot, place);
    return place;
  }

  /**
   * Slot for a text to move to: an empty one, otherwise that of the text unused for longest, if longer.
   */
  #placeAbove(of: Slot, kept: Slot): Slot | null {
    const { index } = of;
    const { slots } = this.#options;
    const idle = slots.filter((slot) => slot.index > index && !slot.owner && slot !== kept);
    const empty = idle.findLast((slot) => !slot.cached);
    if (empty) return empty;
    const [oldest] = idle.sort(byLastUse);
    return oldest && byLastUse(oldest, of) < 0 ? oldest : null;
  }

  /**
   * Moves owner or text to a slot that has none. Its former slot keeps its memory, without an
   * owner.
   */
  move(from: Slot, to: Slot): void {
    const { memory, index } = this.#options;
    memory.setLive(to, from.livePages);
    to.owner = from.owner;
    to.cached = from.cached;
    if (to.owner) to.owner.slot = to.index;
    const tokenIds = tokenIdsOf(to);
    this.copy(from, to, tokenIds.length);
    index.extend(to.index, saltOf(to), tokenIds, tokenIds.length);
    from.owner = null;
    memory.drop(from);
  }

  copy(from: Slot, to: Slot, length: number): void {
    this.#options.schedule({ type: 'copy', from: from.index, to: to.index, length });
  }
}
