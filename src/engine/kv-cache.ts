import type { Sequence } from './sequence.ts';
import type { RowMove } from './step-plan.ts';

/**
 * Which sequence owns which row of the KV cache. Bookkeeping alone: the memory is KvStorage's.
 *
 * A run binds a contiguous range of rows, so rows are handed out from the lowest, and
 * `compact` closes the holes that finished sequences leave.
 */
export class KvCache {
  readonly numRows: number;
  /** Positions per row. */
  readonly capacity: number;
  readonly #owners: (Sequence | null)[];

  constructor(numRows: number, capacity: number) {
    this.numRows = numRows;
    this.capacity = capacity;
    this.#owners = Array.from({ length: numRows }, () => null);
  }

  get numFreeRows(): number {
    return this.#owners.filter((owner) => owner === null).length;
  }

  /** One more than the highest owned row. */
  get extent(): number {
    return this.#owners.findLastIndex((owner) => owner !== null) + 1;
  }

  ownerOf(row: number): Sequence | null {
    return this.#owners[row] ?? null;
  }

  /** Live positions as a share of all, 0 to 1. */
  get usage(): number {
    const live = this.#owners.reduce((sum, owner) => sum + (owner?.numComputedTokens ?? 0), 0);
    return live / (this.numRows * this.capacity);
  }

  /** Gives the sequence the lowest free row; false when there is none. */
  reserve(sequence: Sequence): boolean {
    const row = this.#owners.indexOf(null);
    if (row === -1) return false;
    this.#owners[row] = sequence;
    sequence.row = row;
    return true;
  }

  /** Frees the sequence's row. What it holds is void from here on. */
  release(sequence: Sequence): void {
    if (this.#owners[sequence.row] !== sequence) {
      throw new Error(`sequence ${sequence.id} does not own row ${sequence.row}`);
    }
    this.#owners[sequence.row] = null;
    sequence.row = -1;
  }

  /**
   * Moves the highest rows into the holes below them, until the owned rows are contiguous.
   * A hole would cost a dead row in every decode run; moving costs one copy of the row's content.
   * @returns the copies to make, in order, before anything runs
   */
  compact(): RowMove[] {
    const moves: RowMove[] = [];
    for (;;) {
      const to = this.#owners.indexOf(null);
      const from = this.extent - 1;
      const sequence = this.ownerOf(from);
      if (to === -1 || from < to || sequence === null) return moves;
      this.#owners[from] = null;
      this.#owners[to] = sequence;
      sequence.row = to;
      if (sequence.numComputedTokens > 0) {
        moves.push({ from, to, length: sequence.numComputedTokens });
      }
    }
  }
}
