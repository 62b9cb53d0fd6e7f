import { BlockPool, type Predecessor } from './block-pool.ts';
import type { KvCacheManager } from '../../kv-cache/kv-cache.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation } from '../../step.ts';

export interface PagedKvCacheOptions {
  /** Sequences that run at once. */
  readonly numRows: number;
  /** Positions per sequence. */
  readonly capacity: number;
  readonly numBlocks: number;
  /** Positions per block. */
  readonly blockSize: number;
  /** Keep what finished sequences computed, for prompts that begin alike. */
  readonly prefixCaching?: boolean;
}

interface Row {
  readonly sequence: Sequence;
  readonly blocks: number[];
  /** Full blocks, from the first one, whose texts are registered. */
  numRegistered: number;
  /** What the next block's text follows; null when it can't be told from another. */
  predecessor: Predecessor | null;
}

/** Blocks found for the beginning of a sequence. */
interface Prefix {
  readonly blocks: readonly number[];
  readonly predecessor: Predecessor;
  /** Full of the sequence's last tokens: to be copied, for the last one is computed again. */
  readonly lastBlock: number | null;
}

/**
 * A KV cache in blocks that any sequence may hold (PagedAttention). Sequences that begin alike hold
 * the same blocks, as far as these are full; what a sequence is going to write is its own alone, by a
 * copy where it must. Rows are places in the batch and hold no memory.
 */
export class PagedKvCache implements KvCacheManager {
  readonly runsStepsWhole = true;
  readonly numRows: number;
  readonly capacity: number;
  readonly blockSize: number;
  readonly pool: BlockPool;
  readonly #prefixCaching: boolean;
  readonly #rows: (Row | null)[];
  #operations: CacheOperation[] = [];

  constructor({ numRows, capacity, numBlocks, blockSize, prefixCaching }: PagedKvCacheOptions) {
    this.numRows = numRows;
    this.capacity = capacity;
    this.blockSize = blockSize;
    this.pool = new BlockPool(numBlocks);
    this.#prefixCaching = prefixCaching ?? true;
    this.#rows = Array.from({ length: numRows }, () => null);
  }

  get extent(): number {
    return this.#rows.findLastIndex((row) => row !== null) + 1;
  }

  get usage(): number {
    return 1 - this.pool.numFree / this.pool.numBlocks;
  }

  get maxTokens(): number {
    return Math.min(this.capacity, this.pool.numBlocks * this.blockSize);
  }

  ownerOf(row: number): Sequence | null {
    return this.#rows[row]?.sequence ?? null;
  }

  reserve(sequence: Sequence, spareBlocks: number): boolean {
    const index = this.#rows.indexOf(null);
    if (index === -1) return false;
    const { blocks: shared, predecessor, lastBlock } = this.#longestPrefix(sequence);
    const numFresh = this.#blocksOf(sequence.numTokens) - shared.length;
    const numRevived = shared.filter((block) => this.pool.refCount(block) === 0).length;
    if (numFresh + numRevived + spareBlocks > this.pool.numFree) return false;

    for (const block of shared) this.pool.share(block);
    const blocks = [...shared];
    for (let count = 0; count < numFresh; count++) blocks.push(this.pool.allocate());
    this.#rows[index] = { sequence, blocks, numRegistered: shared.length, predecessor };
    sequence.row = index;
    sequence.blockTable = blocks;
    sequence.numComputedTokens = shared.length * this.blockSize;
    const to = blocks[shared.length];
    if (lastBlock !== null && to !== undefined) {
      sequence.numComputedTokens = sequence.numTokens - 1;
      // Read before anything is run: that the block may be somebody's from now on does no harm.
      this.#operations.push({ type: 'copy', from: lastBlock, to, length: this.blockSize - 1 });
    }
    return true;
  }

  adopt(): void {
    throw new Error('a paged KV cache does not outlive its process');
  }

  discardIdle(): void {}

  grow(sequence: Sequence, length: number): boolean {
    const { blocks } = this.#rowOf(sequence);
    const numMissing = this.#blocksOf(length) - blocks.length;
    if (numMissing > this.pool.numFree) return false;
    for (let count = 0; count < numMissing; count++) blocks.push(this.pool.allocate());
    return true;
  }

  advanced(sequence: Sequence): void {
    if (!this.#prefixCaching) return;
    const row = this.#rowOf(sequence);
    const {
      blocks,
      sequence: { numComputedTokens },
    } = row;
    while ((row.numRegistered + 1) * this.blockSize <= numComputedTokens) {
      const block = blocks[row.numRegistered];
      if (row.predecessor === null || block === undefined) return;
      const tokenIds = this.#blockText(sequence, row.numRegistered);
      row.predecessor = this.pool.register(block, row.predecessor, tokenIds);
      row.numRegistered += 1;
    }
  }

  release(sequence: Sequence, keep: boolean): void {
    const { blocks } = this.#rowOf(sequence);
    this.#rows[sequence.row] = null;
    sequence.row = -1;
    sequence.blockTable = [];
    // The end of a text is of use only with its beginning: it is to be evicted first.
    for (const block of blocks.toReversed()) {
      if (!keep && this.pool.refCount(block) === 1) this.pool.forget(block);
      this.pool.release(block);
    }
  }

  compact(): void {
    const rows = this.#rows.filter((row) => row !== null);
    for (const index of this.#rows.keys()) {
      const row = rows[index] ?? null;
      this.#rows[index] = row;
      if (row) row.sequence.row = index;
    }
  }

  takeOperations(): CacheOperation[] {
    const operations = this.#operations;
    this.#operations = [];
    return operations;
  }

  #rowOf(sequence: Sequence): Row {
    const row = this.#rows[sequence.row];
    if (row?.sequence !== sequence) {
      throw new Error(`sequence ${sequence.id} does not own row ${sequence.row}`);
    }
    return row;
  }

  #longestPrefix(sequence: Sequence): Prefix {
    const blocks: number[] = [];
    let predecessor: Predecessor = sequence.request.cacheSalt;
    // A prompt that is scored needs the logits of all its tokens, not only their keys and values.
    const isWanted = this.#prefixCaching && !sequence.scoresPrompt;
    const numFull = isWanted ? Math.floor(sequence.numTokens / this.blockSize) : 0;
    for (let index = 0; index < numFull; index++) {
      const found = this.pool.find(predecessor, this.#blockText(sequence, index));
      if (!found) break;
      // One token is always left to compute.
      if ((index + 1) * this.blockSize === sequence.numTokens) {
        return { blocks, predecessor, lastBlock: found.index };
      }
      blocks.push(found.index);
      predecessor = found.textId;
    }
    return { blocks, predecessor, lastBlock: null };
  }

  #blockText(sequence: Sequence, index: number): Int32Array {
    return sequence.tokenIds(index * this.blockSize, (index + 1) * this.blockSize);
  }

  /** Blocks that hold that many tokens. */
  #blocksOf(numTokens: number): number {
    return Math.ceil(numTokens / this.blockSize);
  }
}
