import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../cache-operation.ts';

const FIELDS_PER_SLOT = 2;

/**
 * Says, in memory that outlives the engine process, which request's keys and values each slot of a
 * durable KV cache holds, and how many positions are valid. It is written before and after runs: what
 * a lost run wrote lies after the valid positions and is written again.
 */
export class KvJournal {
  /** [slots, 2]: request id (0 for none), valid positions. */
  readonly #entries: Int32Array;
  readonly #numSlots: number;

  static byteLength(numSlots: number): number {
    return numSlots * FIELDS_PER_SLOT * Int32Array.BYTES_PER_ELEMENT;
  }

  /** @param buffer of `byteLength` bytes, zero or as an earlier process left it */
  constructor(numSlots: number, buffer: ArrayBuffer) {
    this.#numSlots = numSlots;
    this.#entries = new Int32Array(buffer);
  }

  /** Slots by the id of the request whose content they hold. */
  read(): Map<number, { readonly slot: number; readonly length: number }> {
    const slots = new Map<number, { slot: number; length: number }>();
    for (let slot = 0; slot < this.#numSlots; slot++) {
      const id = this.#entries[slot * FIELDS_PER_SLOT] ?? 0;
      const length = this.#entries[slot * FIELDS_PER_SLOT + 1] ?? 0;
      if (id > 0 && length > 0) slots.set(id, { slot, length });
    }
    return slots;
  }

  /** Before memory is rearranged: slots that take part are worth nothing until recorded. */
  invalidate(operations: readonly CacheOperation[]): void {
    for (const operation of operations) {
      const slots = operation.type === 'copy' ? [operation.from, operation.to] : [operation.slot];
      for (const slot of slots) this.#write(slot, 0, 0);
    }
  }

  /** @param owners [slots] who has each slot */
  record(owners: readonly (Sequence | null)[]): void {
    for (const [slot, owner] of owners.entries()) {
      this.#write(slot, owner?.id ?? 0, owner?.numComputedTokens ?? 0);
    }
  }

  /** After a run: more positions of a recorded sequence are valid. */
  advance({ slot }: Sequence, length: number): void {
    this.#entries[slot * FIELDS_PER_SLOT + 1] = length;
  }

  #write(slot: number, id: number, length: number): void {
    // A crash between the two writes must not leave an old length with a new id.
    this.#entries[slot * FIELDS_PER_SLOT + 1] = 0;
    this.#entries[slot * FIELDS_PER_SLOT] = id;
    this.#entries[slot * FIELDS_PER_SLOT + 1] = length;
  }
}
