import type { Slot } from './slot.ts';
import type { CacheOperation } from '../step.ts';

export interface SlotMemoryOptions {
  readonly slots: readonly Slot[];
  /** Positions of a slot that are given memory together. */
  readonly blockSize: number;
  /** Memory to use at most, in blocks of one slot. */
  readonly maxBlocks: number;
  /** Forgets an idle slot's text. */
  readonly drop: (slot: Slot) => void;
  /** Takes what has to be done to the memory. */
  readonly schedule: (operation: CacheOperation) => void;
}

/**
 * Counts which blocks of which slots are backed by memory, and keeps them within the budget: by giving
 * back what nobody needs, then texts of finished sequences.
 */
export class SlotMemory {
  readonly #options: SlotMemoryOptions;
  #numResidentBlocks = 0;

  constructor(options: SlotMemoryOptions) {
    this.#options = options;
  }

  /** Blocks that may be backed by memory. */
  get numResidentBlocks(): number {
    return this.#numResidentBlocks;
  }

  /** Blocks that hold that many tokens. */
  blocksOf(numTokens: number): number {
    return Math.ceil(numTokens / this.#options.blockSize);
  }

  /** Whether `blocks` more could be resident without touching what runs, or the slots in `kept`. */
  hasRoom(blocks: number, kept: readonly Slot[]): boolean {
    let room = this.#free;
    for (const slot of this.#options.slots) {
      if (!kept.includes(slot)) room += slot.residentBlocks - (slot.owner ? slot.liveBlocks : 0);
    }
    return blocks <= room;
  }

  /**
   * Gives memory back until `blocks` more fit the budget: first what nobody needs, then the texts
   * that were not used for longest.
   * @returns false, and changes nothing, when that is not enough
   */
  makeRoom(blocks: number, kept: readonly Slot[]): boolean {
    if (blocks <= this.#free) return true;
    if (!this.hasRoom(blocks, kept)) return false;
    const others = this.#options.slots.filter((slot) => !kept.includes(slot));
    for (const slot of others) {
      if (blocks > this.#free) this.#trim(slot);
    }
    const cached = others.filter((slot) => slot.cached !== null);
    cached.sort((a, b) => (a.cached?.lastUsed ?? 0) - (b.cached?.lastUsed ?? 0));
    for (const slot of cached) {
      if (blocks <= this.#free) break;
      this.#options.drop(slot);
      this.#trim(slot);
    }
    return true;
  }

  /** What a slot needs from now on. Memory that it needs no longer stays until somebody wants it. */
  setLive(slot: Slot, liveBlocks: number): void {
    slot.liveBlocks = liveBlocks;
    if (slot.residentBlocks >= liveBlocks) return;
    this.#numResidentBlocks += liveBlocks - slot.residentBlocks;
    slot.residentBlocks = liveBlocks;
  }

  get #free(): number {
    return this.#options.maxBlocks - this.#numResidentBlocks;
  }

  /** Gives back the memory that a slot holds and does not need. */
  #trim(slot: Slot): void {
    const { residentBlocks, liveBlocks } = slot;
    if (residentBlocks === liveBlocks) return;
    const { blockSize, schedule } = this.#options;
    const [start, end] = [liveBlocks * blockSize, residentBlocks * blockSize];
    schedule({ type: 'discard', slot: slot.index, start, end });
    this.#numResidentBlocks -= residentBlocks - liveBlocks;
    slot.residentBlocks = liveBlocks;
  }
}
