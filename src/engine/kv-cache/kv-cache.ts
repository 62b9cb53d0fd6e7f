import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../cache-operation.ts';

/** Where the memory is, for those who look into the engine. */
export interface PageCounts {
  /** Positions of a page. */
  readonly length: number;
  readonly total: number;
  /** Pages that running sequences need. */
  readonly running: number;
  /** Pages that hold cached texts, which are evicted when memory is short. */
  readonly kept: number;
  /** [slots]: what each slot's sequence or text needs; sequences may share pages. */
  readonly bySlot: ArrayLike<number>;
}

/**
 * Holders of the parts of the KV cache. It is bookkeeping alone: `drainOperations` says what to
 * do to the memory. The implementation decides where a sequence's keys and values are.
 */
export interface KvCache {
  /** Sequences that can hold something at once. */
  readonly numSlots: number;
  /** Memory of running sequences as a share of the budget, 0 to 1. */
  readonly usage: number;
  /** Counted anew with each reading. */
  readonly pages: PageCounts;
  /** The longest sequence that could ever run. */
  readonly maxTokens: number;
  /**
   * Gives the sequence a slot, memory for all its tokens, and the longest prefix that the cache has of
   * them: its computed length starts there.
   * @param numOthers sequences to leave memory to grow for
   * @returns false, and changes nothing, when there is no slot or not enough memory
   */
  reserve(sequence: Sequence, numOthers: number): boolean;
  /**
   * Makes sure of memory for `length` positions of a running sequence, at the cost of cached texts.
   * @returns false when only running sequences are left to take it from
   */
  grow(sequence: Sequence, length: number): boolean;
  /** Tokens of an ended text that an idle slot is kept for; 0 if texts are not kept in slots. */
  keptLength(slot: number): number;
  /** Makes what a commit computed findable for prompts that begin alike. */
  registerBlocks(sequence: Sequence): void;
  /**
   * Frees what a sequence holds: nothing of it counts as computed any more.
   * @param keep leave what it computed for reuse, for as long as nobody needs the memory
   */
  release(sequence: Sequence, keep: boolean): void;
  /** Brings what runs into an order that is cheap to compute, before a step is planned. */
  compact(): void;
  /** Operations on the memory since the last call, in order. */
  drainOperations(): CacheOperation[];
}
