import { type CacheRow, saltOf, tokenIdsOf } from './slot.ts';
import type { KvCacheManager } from './kv-cache.ts';
import { BLOCK_SIZE, PrefixIndex, wholeBlocks } from './prefix-index.ts';
import { RowMemory } from './slot-memory.ts';
import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../step.ts';

export interface KvCacheOptions {
  readonly numRows: number;
  /** Positions per row. */
  readonly capacity: number;
  /** Positions of a row that are given memory together; 16 if left out. */
  readonly blockSize?: number;
  /** Memory to use at most, in blocks of one row; all rows' worth if left out. */
  readonly maxBlocks?: number;
  /** Keep what finished sequences computed, for prompts that begin alike. */
  readonly prefixCaching?: boolean;
}

interface Prefix {
  readonly row: CacheRow;
  /** Tokens in common. */
  readonly length: number;
}

/**
 * Which row of the KV cache holds what: the running sequences in the lowest rows (a run binds a
 * contiguous range), and above them texts of finished ones, kept for reuse until their row or memory
 * is needed. Bookkeeping alone; `takeOperations` says what to do to the memory.
 */
export class KvCache implements KvCacheManager {
  readonly runsStepsWhole = false;
  readonly numRows: number;
  readonly capacity: number;
  readonly maxBlocks: number;
  readonly #blockSize: number;
  readonly #memory: RowMemory;
  readonly #prefixCaching: boolean;
  readonly #rows: readonly CacheRow[];
  readonly #index = new PrefixIndex();
  #operations: CacheOperation[] = [];
  /** Advances with every use of a cached text: the order of eviction. */
  #clock = 0;

  constructor(options: KvCacheOptions) {
    const { numRows, capacity, blockSize = BLOCK_SIZE, prefixCaching = true } = options;
    this.numRows = numRows;
    this.capacity = capacity;
    this.#blockSize = blockSize;
    this.maxBlocks = options.maxBlocks ?? numRows * Math.ceil(capacity / blockSize);
    this.#prefixCaching = prefixCaching;
    const rows: CacheRow[] = Array.from({ length: numRows }, (_, index) => ({
      index,
      owner: null,
      cached: null,
      liveBlocks: 0,
      residentBlocks: 0,
    }));
    this.#rows = rows;
    this.#memory = new RowMemory({
      rows,
      blockSize,
      maxBlocks: this.maxBlocks,
      drop: (row) => this.#drop(row),
      schedule: (operation) => this.#operations.push(operation),
    });
  }

  /** One more than the highest running row. */
  get extent(): number {
    return this.#rows.findLastIndex(({ owner }) => owner !== null) + 1;
  }

  get numCachedRows(): number {
    return this.#rows.filter(({ cached }) => cached !== null).length;
  }

  /** Blocks that may be backed by memory. */
  get numResidentBlocks(): number {
    return this.#memory.numResidentBlocks;
  }

  /** Blocks of running sequences as a share of the budget, 0 to 1. */
  get usage(): number {
    const running = this.#rows.filter(({ owner }) => owner !== null);
    return running.reduce((sum, { liveBlocks }) => sum + liveBlocks, 0) / this.maxBlocks;
  }

  ownerOf(row: number): Sequence | null {
    return this.#rows[row]?.owner ?? null;
  }

  /** The tokens that an idle row is kept for, or null. */
  cachedTokenIds(row: number): Int32Array | null {
    return this.#rows[row]?.cached?.tokenIds ?? null;
  }

  /** The longest sequence that could ever run: a row's positions, or what the budget holds. */
  get maxTokens(): number {
    return Math.min(this.capacity, this.maxBlocks * this.#blockSize);
  }

  /**
   * Gives the sequence the lowest idle row, memory for all its tokens, and the longest prefix that
   * any row has of them: its computed length starts there.
   * @param spareBlocks to leave for others to grow
   * @returns false, and changes nothing, when there is no row or not enough memory
   */
  reserve(sequence: Sequence, spareBlocks: number): boolean {
    const row = this.#rows.find(({ owner }) => owner === null);
    if (!row) return false;
    const liveBlocks = this.#memory.blocksOf(sequence.numTokens);
    const needed = liveBlocks - row.residentBlocks + spareBlocks;
    // Holding on to the text to copy from may be what memory lacks: then it is recomputed.
    const found = this.#longestPrefix(sequence);
    let prefix = found && this.#memory.hasRoom(needed, [row, found.row]) ? found : null;
    if (!this.#memory.hasRoom(needed, prefix ? [row, prefix.row] : [row])) return false;
    if (prefix?.row.cached) prefix.row.cached.lastUsed = ++this.#clock;

    // Of a text of which it shares only the beginning, such as a system prompt, the rest is kept too.
    if (prefix?.row === row && !isWholeText(prefix)) {
      const moved = this.#moveAway(row, row, needed);
      if (moved) prefix = { row: moved, length: prefix.length };
    }
    if (prefix?.row === row) this.#index.remove(row.index, Math.floor(prefix.length / BLOCK_SIZE));
    else this.#vacate(row, prefix?.row ?? row, needed);
    row.cached = null;
    row.owner = sequence;
    sequence.row = row.index;
    sequence.numComputedTokens = prefix?.length ?? 0;
    this.#memory.makeRoom(needed, prefix ? [row, prefix.row] : [row]);
    this.#memory.setLive(row, liveBlocks);
    if (prefix && prefix.row !== row) this.#copyPrefix(prefix, row);
    this.#indexOwned(row);
    return true;
  }

  /**
   * Gives a sequence the row that holds its first `length` positions already, from an earlier
   * process. Before anything else is reserved.
   */
  adopt(sequence: Sequence, rowIndex: number, length: number): void {
    const row = this.#rows[rowIndex];
    if (!row || row.owner) throw new Error(`row ${rowIndex} can not be adopted`);
    row.owner = sequence;
    sequence.row = rowIndex;
    // The last token's logits are lost with the process: it is computed once more.
    sequence.numComputedTokens = Math.min(length, sequence.numTokens - 1);
    sequence.numCachedTokens = wholeBlocks(sequence.numComputedTokens);
    this.#memory.setLive(row, this.#memory.blocksOf(sequence.numTokens));
    this.#indexOwned(row);
  }

  /** Gives back whatever memory idle rows have of an earlier process. */
  discardIdle(): void {
    for (const { owner, index: row } of this.#rows) {
      if (!owner) this.#operations.push({ type: 'discard', row, start: 0, end: this.capacity });
    }
  }

  /**
   * Makes sure of memory for `length` positions of a running sequence, at the cost of cached texts.
   * @returns false when only running sequences are left to take it from
   */
  grow(sequence: Sequence, length: number): boolean {
    const row = this.#rowOf(sequence);
    const liveBlocks = this.#memory.blocksOf(length);
    if (liveBlocks <= row.liveBlocks) return true;
    if (!this.#memory.makeRoom(liveBlocks - row.residentBlocks, [row])) return false;
    this.#memory.setLive(row, liveBlocks);
    return true;
  }

  /** Makes what a commit computed findable for prompts that begin alike. */
  advanced(sequence: Sequence): void {
    this.#indexOwned(this.#rowOf(sequence));
  }

  /**
   * Frees a sequence's row.
   * @param keep leave what it computed for reuse, for as long as nobody needs the memory
   */
  release(sequence: Sequence, keep: boolean): void {
    const row = this.#rowOf(sequence);
    const length = sequence.numComputedTokens;
    row.owner = null;
    sequence.row = -1;
    if (keep && this.#prefixCaching && length >= BLOCK_SIZE) {
      const tokenIds = sequence.tokenIds(0, length).slice();
      row.cached = { tokenIds, salt: sequence.request.cacheSalt, lastUsed: ++this.#clock };
      row.liveBlocks = this.#memory.blocksOf(length);
    } else {
      this.#drop(row);
    }
  }

  /**
   * Moves the highest running rows into the holes below them, until the running rows are
   * contiguous. A hole costs a dead row in every decode run; moving costs one copy.
   */
  compact(): void {
    for (;;) {
      const hole = this.#rows.find(({ owner }) => owner === null);
      const last = this.#rows[this.extent - 1];
      if (!hole || !last || last.index < hole.index) return;
      const needed = last.liveBlocks - hole.residentBlocks;
      this.#vacate(hole, last, needed);
      // During the copy the content is there twice. Without memory for that the hole stays.
      if (!this.#memory.makeRoom(needed, [hole, last])) break;
      this.#move(last, hole);
    }
    // What stays between running rows is run as a dead row, which writes to its first position.
    for (const row of this.#rows.slice(0, this.extent)) {
      if (!row.owner) this.#drop(row);
    }
  }

  /** What has to be done to the memory since the last call, in order. */
  takeOperations(): CacheOperation[] {
    const operations = this.#operations;
    this.#operations = [];
    return operations;
  }

  #rowOf(sequence: Sequence): CacheRow {
    const row = this.#rows[sequence.row];
    if (row?.owner !== sequence) {
      throw new Error(`sequence ${sequence.id} does not own row ${sequence.row}`);
    }
    return row;
  }

  /** The row with the most leading tokens in common; one token is always left to compute. */
  #longestPrefix(sequence: Sequence): Prefix | null {
    // A prompt that is scored needs the logits of all its tokens, not only their keys and values.
    if (!this.#prefixCaching || sequence.scoresPrompt) return null;
    const { cacheSalt } = sequence.request;
    const wanted = sequence.tokenIds(0, sequence.numTokens - 1);
    let best: Prefix | null = null;
    for (const index of this.#index.longestMatches(cacheSalt, wanted)) {
      const row = this.#rows[index];
      if (!row || saltOf(row) !== cacheSalt) continue;
      const length = commonLength(wanted, tokenIdsOf(row));
      if (length >= BLOCK_SIZE && length > (best?.length ?? 0)) best = { row, length };
    }
    return best;
  }

  /** Makes an idle row's place free: its text moves to a row above, or is given up. */
  #vacate(row: CacheRow, kept: CacheRow, needed: number): void {
    if (row.cached && !this.#moveAway(row, kept, needed)) this.#drop(row);
  }

  /**
   * Moves an idle row's text to a row above, at the cost of the texts that were not used for longest.
   * @param needed blocks to have room for besides
   * @returns the text's new row; null, and nothing is changed, when there is none or no memory
   */
  #moveAway(row: CacheRow, kept: CacheRow, needed: number): CacheRow | null {
    const place = this.#placeAbove(row, kept);
    if (!place) return null;
    const blocks = Math.max(0, needed) + Math.max(0, row.liveBlocks - place.residentBlocks);
    const untouched = [row, place, kept];
    if (!this.#memory.hasRoom(blocks, untouched)) return null;
    this.#drop(place);
    this.#memory.makeRoom(blocks, untouched);
    this.#move(row, place);
    return place;
  }

  /** For a text to move to: an empty row, or else that of the text unused for longest, if longer. */
  #placeAbove({ index, cached }: CacheRow, kept: CacheRow): CacheRow | null {
    const idle = this.#rows.filter((row) => row.index > index && !row.owner && row !== kept);
    const empty = idle.findLast((row) => !row.cached);
    if (empty) return empty;
    const lastUsed = (row: CacheRow) => row.cached?.lastUsed ?? 0;
    const [oldest] = idle.sort((a, b) => lastUsed(a) - lastUsed(b));
    return oldest && lastUsed(oldest) < (cached?.lastUsed ?? 0) ? oldest : null;
  }

  /** Moves owner or text to a row that has none. Its former place keeps its memory, as nobody's. */
  #move(from: CacheRow, to: CacheRow): void {
    this.#memory.setLive(to, from.liveBlocks);
    to.owner = from.owner;
    to.cached = from.cached;
    if (to.owner) to.owner.row = to.index;
    const tokenIds = tokenIdsOf(to);
    this.#copy(from, to, tokenIds.length);
    this.#index.extend(to.index, saltOf(to), tokenIds, tokenIds.length);
    from.owner = null;
    this.#drop(from);
  }

  #copyPrefix(prefix: Prefix, to: CacheRow): void {
    this.#copy(prefix.row, to, prefix.length);
    // The new sequence carries the whole text on: it need not be kept twice.
    if (isWholeText(prefix)) this.#drop(prefix.row);
  }

  /** Forgets an idle row's text. */
  #drop(row: CacheRow): void {
    row.cached = null;
    row.liveBlocks = 0;
    this.#index.remove(row.index);
  }

  #copy(from: CacheRow, to: CacheRow, length: number): void {
    if (length === 0) return;
    this.#operations.push({ type: 'copy', from: from.index, to: to.index, length });
  }

  #indexOwned(row: CacheRow): void {
    const { owner } = row;
    if (!owner || !this.#prefixCaching) return;
    const { cacheSalt } = owner.request;
    this.#index.extend(row.index, cacheSalt, owner.tokenIds(), owner.numComputedTokens);
  }
}

/** Of an idle row; but for a last token that the prefix can't have, since one is left to compute. */
function isWholeText({ row: { cached }, length }: Prefix): boolean {
  return cached !== null && length >= cached.tokenIds.length - 1;
}

/** Leading tokens that two texts have in common. */
export function commonLength(a: Int32Array, b: Int32Array): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a[index] === b[index]) index++;
  return index;
}
