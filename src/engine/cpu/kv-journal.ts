import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../step.ts';

const FIELDS_PER_ROW = 2;

/**
 * Says, in memory that outlives the engine process, which request's keys and values each row of a
 * durable KV cache holds, and how many positions are valid. It is written when a step has committed:
 * what a lost step wrote lies behind the valid positions and is written again.
 */
export class KvJournal {
  /** [rows, 2]: request id (0 for none), valid positions. */
  readonly #entries: Int32Array;
  readonly #numRows: number;

  static byteLength(numRows: number): number {
    return numRows * FIELDS_PER_ROW * Int32Array.BYTES_PER_ELEMENT;
  }

  /** @param buffer of `byteLength` bytes, zero or as an earlier process left it */
  constructor(numRows: number, buffer: ArrayBuffer) {
    this.#numRows = numRows;
    this.#entries = new Int32Array(buffer);
  }

  /** Rows by the id of the request whose content they hold. */
  read(): Map<number, { readonly row: number; readonly length: number }> {
    const rows = new Map<number, { row: number; length: number }>();
    for (let row = 0; row < this.#numRows; row++) {
      const id = this.#entries[row * FIELDS_PER_ROW] ?? 0;
      const length = this.#entries[row * FIELDS_PER_ROW + 1] ?? 0;
      if (id > 0 && length > 0) rows.set(id, { row, length });
    }
    return rows;
  }

  /** Before the cache's memory is rearranged: rows that take part are worth nothing until recorded. */
  invalidate(operations: readonly CacheOperation[]): void {
    for (const operation of operations) {
      const rows = operation.type === 'copy' ? [operation.from, operation.to] : [operation.row];
      for (const row of rows) this.#write(row, 0, 0);
    }
  }

  record(running: readonly Sequence[]): void {
    const owned = new Map(running.map((sequence) => [sequence.row, sequence]));
    for (let row = 0; row < this.#numRows; row++) {
      const sequence = owned.get(row);
      this.#write(row, sequence?.id ?? 0, sequence?.numComputedTokens ?? 0);
    }
  }

  #write(row: number, id: number, length: number): void {
    // A crash between the two writes must not leave an old length with a new id.
    this.#entries[row * FIELDS_PER_ROW + 1] = 0;
    this.#entries[row * FIELDS_PER_ROW] = id;
    this.#entries[row * FIELDS_PER_ROW + 1] = length;
  }
}
