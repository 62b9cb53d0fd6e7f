import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../step.ts';

/**
 * Who holds which part of the KV cache. Bookkeeping alone: `takeOperations` says what to do to the
 * memory. Every running sequence has a row, its place in the batch; where its keys and values lie is
 * the implementation's business.
 */
export interface KvCacheManager {
  readonly numRows: number;
  /** One more than the highest running row. */
  readonly extent: number;
  /** Blocks of running sequences as a share of the budget, 0 to 1. */
  readonly usage: number;
  /** The longest sequence that could ever run. */
  readonly maxTokens: number;
  /** Whether sequences of any rows and lengths can be computed in one run, without padding. */
  readonly runsStepsWhole: boolean;
  ownerOf(row: number): Sequence | null;
  /**
   * Gives the sequence a row, memory for all its tokens, and the longest prefix that the cache has of
   * them: its computed length starts there.
   * @param spareBlocks to leave for others to grow
   * @returns false, and changes nothing, when there is no row or not enough memory
   */
  reserve(sequence: Sequence, spareBlocks: number): boolean;
  /**
   * Gives a sequence the row that holds its first `length` positions already, from an earlier
   * process. Before anything else is reserved.
   */
  adopt(sequence: Sequence, rowIndex: number, length: number): void;
  /** Gives back whatever memory idle rows have of an earlier process. */
  discardIdle(): void;
  /**
   * Makes sure of memory for `length` positions of a running sequence, at the cost of cached texts.
   * @returns false when only running sequences are left to take it from
   */
  grow(sequence: Sequence, length: number): boolean;
  /** Makes what a commit computed findable for prompts that begin alike. */
  advanced(sequence: Sequence): void;
  /**
   * Frees what a sequence holds.
   * @param keep leave what it computed for reuse, for as long as nobody needs the memory
   */
  release(sequence: Sequence, keep: boolean): void;
  /** Makes the running rows contiguous. */
  compact(): void;
  /** What has to be done to the memory since the last call, in order. */
  takeOperations(): CacheOperation[];
}
