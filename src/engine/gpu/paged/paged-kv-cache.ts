import { BlockPool, type Predecessor } from './block-pool.ts';
import type { KvCache } from '../../kv-cache/kv-cache.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation } from '../../step.ts';

export interface PagedKvCacheOptions {
  /** Sequences that run at once. */
  readonly numSlots: number;
  /** Positions per sequence. */
  readonly capacity: number;
  readonly numBlocks: number;
  /** Positions per block. */
  readonly blockSize: number;
  /** Keep what finished sequences computed, for prompts that begin alike. */
  readonly prefixCaching?: boolean;
}

interface Entry {
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
 * copy where it must. Slots bound how many sequences run, and hold no memory.
 */
export class PagedKvCache implements KvCache {
  readonly numSlots: number;
  readonly capacity: number;
  readonly blockSize: number;
  readonly pool: BlockPool;
  readonly #prefixCaching: boolean;
  readonly #entries: (Entry | null)[];
  #operations: CacheOperation[] = [];

  constructor({ numSlots, capacity, numBlocks, blockSize, prefixCaching }: PagedKvCacheOptions) {
    this.numSlots = numSlots;
    this.capacity = capacity;
    this.blockSize = blockSize;
    this.pool = new BlockPool(numBlocks);
    this.#prefixCaching = prefixCaching ?? true;
    this.#entries = Array.from({ length: numSlots }, () => null);
  }

  get usage(): number {
    return 1 - this.pool.numFree / this.pool.numBlocks;
  }

  get maxTokens(): number {
    return Math.min(this.capacity, this.pool.numBlocks * this.blockSize);
  }

  reserve(sequence: Sequence, numOthers: number): boolean {
    const index = this.#entries.indexOf(null);
    if (index === -1) return false;
    const { blocks: shared, predecessor, lastBlock } = this.#longestPrefix(sequence);
    const numFresh = this.#blocksOf(sequence.numTokens) - shared.length;
    const numRevived = shared.filter((block) => this.pool.refCount(block) === 0).length;
    if (numFresh + numRevived + numOthers > this.pool.numFree) return false;

    for (const block of shared) this.pool.share(block);
    const blocks = [...shared];
    for (let count = 0; count < numFresh; count++) blocks.push(this.pool.allocate());
    this.#entries[index] = { sequence, blocks, numRegistered: shared.length, predecessor };
    sequence.slot = index;
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

  grow(sequence: Sequence, length: number): boolean {
    const { blocks } = this.#entryOf(sequence);
    const numMissing = this.#blocksOf(length) - blocks.length;
    if (numMissing > this.pool.numFree) return false;
    for (let count = 0; count < numMissing; count++) blocks.push(this.pool.allocate());
    return true;
  }

  registerBlocks(sequence: Sequence): void {
    if (!this.#prefixCaching) return;
    const entry = this.#entryOf(sequence);
    const {
      blocks,
      sequence: { numComputedTokens },
    } = entry;
    while ((entry.numRegistered + 1) * this.blockSize <= numComputedTokens) {
      const block = blocks[entry.numRegistered];
      if (entry.predecessor === null || block === undefined) return;
      const tokenIds = this.#blockText(sequence, entry.numRegistered);
      entry.predecessor = this.pool.register(block, entry.predecessor, tokenIds);
      entry.numRegistered += 1;
    }
  }

  release(sequence: Sequence, keep: boolean): void {
    const { blocks } = this.#entryOf(sequence);
    this.#entries[sequence.slot] = null;
    sequence.slot = -1;
    sequence.blockTable = [];
    // The end of a text is of use only with its beginning: it is to be evicted first.
    for (const block of blocks.toReversed()) {
      if (!keep && this.pool.refCount(block) === 1) this.pool.forget(block);
      this.pool.release(block);
    }
  }

  /** A sequence's blocks may lie anywhere. */
  compact(): void {}

  drainOperations(): CacheOperation[] {
    const operations = this.#operations;
    this.#operations = [];
    return operations;
  }

  #entryOf(sequence: Sequence): Entry {
    const entry = this.#entries[sequence.slot];
    if (entry?.sequence !== sequence) {
      throw new Error(`sequence ${sequence.id} has no slot`);
    }
    return entry;
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
