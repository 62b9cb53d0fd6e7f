import type { CacheRow } from './slot.ts';
import type { CacheOperation } from '../step.ts';

export interface RowMemoryOptions {
  readonly rows: readonly CacheRow[];
  /** Positions of a row that are given memory together. */
  readonly blockSize: number;
  /** Memory to use at most, in blocks of one row. */
  readonly maxBlocks: number;
  /** Forgets an idle row's text. */
  readonly drop: (row: CacheRow) => void;
  /** Takes what has to be done to the memory. */
  readonly schedule: (operation: CacheOperation) => void;
}

/**
 * Counts which blocks of which rows are backed by memory, and keeps them within the budget: by giving
 * back what nobody needs, then texts of finished sequences.
 */
export class RowMemory {
  readonly #options: RowMemoryOptions;
  #numResidentBlocks = 0;

  constructor(options: RowMemoryOptions) {
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

  /** Whether `blocks` more could be resident without touching what runs, or the rows in `kept`. */
  hasRoom(blocks: number, kept: readonly CacheRow[]): boolean {
    let room = this.#free;
    for (const row of this.#options.rows) {
      if (!kept.includes(row)) room += row.residentBlocks - (row.owner ? row.liveBlocks : 0);
    }
    return blocks <= room;
  }

  /**
   * Gives memory back until `blocks` more fit the budget: first what nobody needs, then the texts
   * that were not used for longest.
   * @returns false, and changes nothing, when that is not enough
   */
  makeRoom(blocks: number, kept: readonly CacheRow[]): boolean {
    if (blocks <= this.#free) return true;
    if (!this.hasRoom(blocks, kept)) return false;
    const others = this.#options.rows.filter((row) => !kept.includes(row));
    for (const row of others) {
      if (blocks > this.#free) this.#trim(row);
    }
    const cached = others.filter((row) => row.cached !== null);
    cached.sort((a, b) => (a.cached?.lastUsed ?? 0) - (b.cached?.lastUsed ?? 0));
    for (const row of cached) {
      if (blocks <= this.#free) break;
      this.#options.drop(row);
      this.#trim(row);
    }
    return true;
  }

  /** What a row needs from now on. Memory that it needs no longer stays until somebody wants it. */
  setLive(row: CacheRow, liveBlocks: number): void {
    row.liveBlocks = liveBlocks;
    if (row.residentBlocks >= liveBlocks) return;
    this.#numResidentBlocks += liveBlocks - row.residentBlocks;
    row.residentBlocks = liveBlocks;
  }

  get #free(): number {
    return this.#options.maxBlocks - this.#numResidentBlocks;
  }

  /** Gives back the memory that a row holds and does not need. */
  #trim(row: CacheRow): void {
    const { residentBlocks, liveBlocks } = row;
    if (residentBlocks === liveBlocks) return;
    const { blockSize, schedule } = this.#options;
    const [start, end] = [liveBlocks * blockSize, residentBlocks * blockSize];
    schedule({ type: 'discard', row: row.index, start, end });
    this.#numResidentBlocks -= residentBlocks - liveBlocks;
    row.residentBlocks = liveBlocks;
  }
}
