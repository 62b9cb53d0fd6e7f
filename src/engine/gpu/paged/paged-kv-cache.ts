import { PagePool, type Predecessor } from './page-pool.ts';
import type { BlockLog } from '../../kv-cache/block-log.ts';
import type { KvCache, PageCounts } from '../../kv-cache/kv-cache.ts';
import { PUBLIC_SALT } from '../../request.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation } from '../../cache-operation.ts';

export interface PagedKvCacheOptions {
  /** Sequences that run at once. */
  readonly numSlots: number;
  /** Positions per sequence. */
  readonly capacity: number;
  readonly numPages: number;
  /** Positions per page. */
  readonly pageLength: number;
  /** Keep what finished sequences computed, for prompts that begin alike. */
  readonly prefixCaching?: boolean;
  /** Receives the changes of the prefix cache. */
  readonly blocks?: BlockLog | null;
}

interface Entry {
  readonly sequence: Sequence;
  readonly pages: number[];
  /** Full pages, from the first one, whose texts are registered. */
  numRegistered: number;
  /** Predecessor of the next page's text; null when it can't be distinguished from another. */
  predecessor: Predecessor | null;
}

/** Pages found for the beginning of a sequence. */
interface Prefix {
  readonly pages: readonly number[];
  readonly predecessor: Predecessor;
  /**
   * It ends with the sequence's last tokens and must be copied: the last token is computed again.
   */
  readonly lastPage: number | null;
}

/**
 * A KV cache in pages that any sequence may hold (PagedAttention). Sequences that begin alike hold
 * the same pages, as far as these are full; what a sequence is going to write is its own alone, by a
 * copy where it must. Slots bound how many sequences run, and hold no memory.
 */
export class PagedKvCache implements KvCache {
  readonly numSlots: number;
  readonly capacity: number;
  readonly pageLength: number;
  readonly pool: PagePool;
  readonly #prefixCaching: boolean;
  readonly #entries: (Entry | null)[];
  #operations: CacheOperation[] = [];

  constructor(options: PagedKvCacheOptions) {
    const { numSlots, capacity, numPages, pageLength, prefixCaching } = options;
    this.numSlots = numSlots;
    this.capacity = capacity;
    this.pageLength = pageLength;
    this.pool = new PagePool(numPages, options.blocks);
    this.#prefixCaching = prefixCaching ?? true;
    this.#entries = Array.from({ length: numSlots }, () => null);
  }

  get usage(): number {
    return 1 - this.pool.numFree / this.pool.numPages;
  }

  get pages(): PageCounts {
    const { numPages: total, numFree, numCached: kept } = this.pool;
    const bySlot = this.#entries.map((entry) => entry?.pages.length ?? 0);
    return { length: this.pageLength, total, running: total - numFree, kept, bySlot };
  }

  get maxTokens(): number {
    return Math.min(this.capacity, this.pool.numPages * this.pageLength);
  }

  /** Texts are kept in pages. */
  keptLength(): number {
    return 0;
  }

  reserve(sequence: Sequence, numOthers: number): boolean {
    const index = this.#entries.indexOf(null);
    if (index === -1) return false;
    const { pages: shared, predecessor, lastPage } = this.#longestPrefix(sequence);
    const numFresh = this.#pagesOf(sequence.numTokens) - shared.length;
    const numRevived = shared.filter((page) => this.pool.refCount(page) === 0).length;
    if (numFresh + numRevived + numOthers > this.pool.numFree) return false;

    for (const page of shared) this.pool.share(page);
    const pages = [...shared];
    for (let count = 0; count < numFresh; count++) pages.push(this.pool.allocate());
    this.#entries[index] = { sequence, pages, numRegistered: shared.length, predecessor };
    sequence.slot = index;
    sequence.pageTable = pages;
    sequence.numComputedTokens = shared.length * this.pageLength;
    const to = pages[shared.length];
    if (lastPage !== null && to !== undefined) {
      sequence.numComputedTokens = sequence.numTokens - 1;
      // It is read before anything runs: another sequence may get the page now without harm.
      this.#operations.push({ type: 'copy', from: lastPage, to, length: this.pageLength - 1 });
    }
    return true;
  }

  grow(sequence: Sequence, length: number): boolean {
    const { pages } = this.#entryOf(sequence);
    const numMissing = this.#pagesOf(length) - pages.length;
    if (numMissing > this.pool.numFree) return false;
    for (let count = 0; count < numMissing; count++) pages.push(this.pool.allocate());
    return true;
  }

  registerBlocks(sequence: Sequence): void {
    if (!this.#prefixCaching) return;
    const entry = this.#entryOf(sequence);
    const {
      pages,
      sequence: { numComputedTokens },
    } = entry;
    while ((entry.numRegistered + 1) * this.pageLength <= numComputedTokens) {
      const page = pages[entry.numRegistered];
      if (entry.predecessor === null || page === undefined) return;
      const tokenIds = this.#pageText(sequence, entry.numRegistered);
      const { cacheSalt } = sequence.request;
      entry.predecessor = this.pool.register(page, entry.predecessor, tokenIds, cacheSalt);
      entry.numRegistered += 1;
    }
  }

  release(sequence: Sequence, keep: boolean): void {
    const { pages } = this.#entryOf(sequence);
    this.#entries[sequence.slot] = null;
    sequence.slot = -1;
    sequence.numComputedTokens = 0;
    sequence.pageTable = [];
    // The end of a text is useless without its beginning: it is evicted first.
    for (const page of pages.toReversed()) {
      if (!keep && this.pool.refCount(page) === 1) this.pool.forget(page);
      this.pool.release(page);
    }
  }

  /** A sequence's pages may lie anywhere. */
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
    const own = this.#prefixFrom(sequence.request.cacheSalt, sequence);
    const shared = this.#prefixFrom(PUBLIC_SALT, sequence);
    return this.#lengthOf(shared) > this.#lengthOf(own) ? shared : own;
  }

  #prefixFrom(salt: string, sequence: Sequence): Prefix {
    const { cacheSalt } = sequence.request;
    const pages: number[] = [];
    let predecessor: Predecessor = salt;
    // Pages after a prefix under the public salt belong to the request's own salt again.
    let isShared = salt !== cacheSalt;
    const ownAfter = (text: Predecessor): Predecessor =>
      isShared && pages.length > 0 ? `${cacheSalt}\0${text}` : text;
    // A prompt that is scored needs the logits of all its tokens, not only their keys and values.
    const isWanted = this.#prefixCaching && !sequence.scoresPrompt;
    const numFull = isWanted ? Math.floor(sequence.numTokens / this.pageLength) : 0;
    for (let index = 0; index < numFull; index++) {
      const text = this.#pageText(sequence, index);
      let found = this.pool.find(predecessor, text);
      if (!found && isShared) {
        predecessor = ownAfter(predecessor);
        isShared = false;
        found = this.pool.find(predecessor, text);
      }
      if (!found) break;
      // One token is always left to compute.
      if ((index + 1) * this.pageLength === sequence.numTokens) {
        return { pages, predecessor: ownAfter(predecessor), lastPage: found.index };
      }
      pages.push(found.index);
      predecessor = found.textId;
    }
    return { pages, predecessor: ownAfter(predecessor), lastPage: null };
  }

  /** In tokens. */
  #lengthOf({ pages, lastPage }: Prefix): number {
    return pages.length * this.pageLength + (lastPage === null ? 0 : this.pageLength - 1);
  }

  #pageText(sequence: Sequence, index: number): Int32Array {
    return sequence.tokenIds(index * this.pageLength, (index + 1) * this.pageLength);
  }

  /** Pages that hold that many tokens. */
  #pagesOf(numTokens: number): number {
    return Math.ceil(numTokens / this.pageLength);
  }
}
