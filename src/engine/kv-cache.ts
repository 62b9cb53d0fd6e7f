import type { KvCacheManager } from './kv-cache-manager.ts';
import { BLOCK_SIZE, PrefixIndex } from './prefix-index.ts';
import type { Sequence } from './sequence.ts';
import type { CacheOperation } from './step-plan.ts';

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

/** What a finished sequence left in its row. */
interface CachedText {
  readonly tokenIds: Int32Array;
  readonly salt: string;
  lastUsed: number;
}

interface Row {
  readonly index: number;
  owner: Sequence | null;
  cached: CachedText | null;
  /** Blocks that its owner or its text needs. */
  liveBlocks: number;
  /** Blocks that may be backed by memory: at least the live ones. */
  residentBlocks: number;
}

interface Prefix {
  readonly row: Row;
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
  readonly #prefixCaching: boolean;
  readonly #rows: readonly Row[];
  readonly #index = new PrefixIndex();
  #operations: CacheOperation[] = [];
  #numResidentBlocks = 0;
  /** Advances with every use of a cached text: the order of eviction. */
  #clock = 0;

  constructor(options: KvCacheOptions) {
    const { numRows, capacity, blockSize = BLOCK_SIZE, prefixCaching = true } = options;
    this.numRows = numRows;
    this.capacity = capacity;
    this.#blockSize = blockSize;
    this.maxBlocks = options.maxBlocks ?? numRows * this.#blocksOf(capacity);
    this.#prefixCaching = prefixCaching;
    this.#rows = Array.from({ length: numRows }, (_, index) => ({
      index,
      owner: null,
      cached: null,
      liveBlocks: 0,
      residentBlocks: 0,
    }));
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
    return this.#numResidentBlocks;
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
    const liveBlocks = this.#blocksOf(sequence.numTokens);
    const needed = liveBlocks - row.residentBlocks + spareBlocks;
    // Holding on to the text to copy from may be what memory lacks: then it is recomputed.
    const found = this.#longestPrefix(sequence);
    let prefix = found && this.#hasRoom(needed, [row, found.row]) ? found : null;
    if (!this.#hasRoom(needed, prefix ? [row, prefix.row] : [row])) return false;
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
    this.#makeRoom(needed, prefix ? [row, prefix.row] : [row]);
    this.#setLive(row, liveBlocks);
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
    sequence.numCachedTokens = sequence.numComputedTokens;
    this.#setLive(row, this.#blocksOf(sequence.numTokens));
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
    const liveBlocks = this.#blocksOf(length);
    if (liveBlocks <= row.liveBlocks) return true;
    if (!this.#makeRoom(liveBlocks - row.residentBlocks, [row])) return false;
    this.#setLive(row, liveBlocks);
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
      row.liveBlocks = this.#blocksOf(length);
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
      if (!this.#makeRoom(needed, [hole, last])) break;
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

  /** Blocks that hold that many tokens. */
  #blocksOf(numTokens: number): number {
    return Math.ceil(numTokens / this.#blockSize);
  }

  #rowOf(sequence: Sequence): Row {
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

  /** Whether `blocks` more could be resident without touching what runs, or the rows in `kept`. */
  #hasRoom(blocks: number, kept: readonly Row[]): boolean {
    let room = this.maxBlocks - this.#numResidentBlocks;
    for (const row of this.#rows) {
      if (!kept.includes(row)) room += row.residentBlocks - (row.owner ? row.liveBlocks : 0);
    }
    return blocks <= room;
  }

  /**
   * Gives memory back until `blocks` more fit the budget: first what nobody needs, then the texts
   * that were not used for longest.
   * @returns false, and changes nothing, when that is not enough
   */
  #makeRoom(blocks: number, kept: readonly Row[]): boolean {
    const missing = () => blocks - (this.maxBlocks - this.#numResidentBlocks);
    if (missing() <= 0) return true;
    if (!this.#hasRoom(blocks, kept)) return false;
    const others = this.#rows.filter((row) => !kept.includes(row));
    for (const row of others) {
      if (missing() > 0) this.#trim(row);
    }
    const cached = others.filter((row) => row.cached !== null);
    cached.sort((a, b) => (a.cached?.lastUsed ?? 0) - (b.cached?.lastUsed ?? 0));
    for (const row of cached) {
      if (missing() <= 0) break;
      this.#drop(row);
      this.#trim(row);
    }
    return true;
  }

  /** Makes an idle row's place free: its text moves to a row above, or is given up. */
  #vacate(row: Row, kept: Row, needed: number): void {
    if (row.cached && !this.#moveAway(row, kept, needed)) this.#drop(row);
  }

  /**
   * Moves an idle row's text to a row above, at the cost of the texts that were not used for longest.
   * @param needed blocks to have room for besides
   * @returns the text's new row; null, and nothing is changed, when there is none or no memory
   */
  #moveAway(row: Row, kept: Row, needed: number): Row | null {
    const place = this.#placeAbove(row, kept);
    if (!place) return null;
    const blocks = Math.max(0, needed) + Math.max(0, row.liveBlocks - place.residentBlocks);
    const untouched = [row, place, kept];
    if (!this.#hasRoom(blocks, untouched)) return null;
    this.#drop(place);
    this.#makeRoom(blocks, untouched);
    this.#move(row, place);
    return place;
  }

  /** For a text to move to: an empty row, or else that of the text unused for longest, if longer. */
  #placeAbove({ index, cached }: Row, kept: Row): Row | null {
    const idle = this.#rows.filter((row) => row.index > index && !row.owner && row !== kept);
    const empty = idle.findLast((row) => !row.cached);
    if (empty) return empty;
    const lastUsed = (row: Row) => row.cached?.lastUsed ?? 0;
    const [oldest] = idle.sort((a, b) => lastUsed(a) - lastUsed(b));
    return oldest && lastUsed(oldest) < (cached?.lastUsed ?? 0) ? oldest : null;
  }

  /** Moves owner or text to a row that has none. Its former place keeps its memory, as nobody's. */
  #move(from: Row, to: Row): void {
    this.#setLive(to, from.liveBlocks);
    to.owner = from.owner;
    to.cached = from.cached;
    if (to.owner) to.owner.row = to.index;
    const tokenIds = tokenIdsOf(to);
    this.#copy(from, to, tokenIds.length);
    this.#index.extend(to.index, saltOf(to), tokenIds, tokenIds.length);
    from.owner = null;
    this.#drop(from);
  }

  #copyPrefix(prefix: Prefix, to: Row): void {
    this.#copy(prefix.row, to, prefix.length);
    // The new sequence carries the whole text on: it need not be kept twice.
    if (isWholeText(prefix)) this.#drop(prefix.row);
  }

  /** Forgets an idle row's text. */
  #drop(row: Row): void {
    row.cached = null;
    row.liveBlocks = 0;
    this.#index.remove(row.index);
  }

  /** Gives back the memory that a row holds and does not need. */
  #trim(row: Row): void {
    if (row.residentBlocks === row.liveBlocks) return;
    const start = row.liveBlocks * this.#blockSize;
    const end = row.residentBlocks * this.#blockSize;
    this.#operations.push({ type: 'discard', row: row.index, start, end });
    this.#numResidentBlocks -= row.residentBlocks - row.liveBlocks;
    row.residentBlocks = row.liveBlocks;
  }

  #setLive(row: Row, liveBlocks: number): void {
    row.liveBlocks = liveBlocks;
    if (row.residentBlocks >= liveBlocks) return;
    this.#numResidentBlocks += liveBlocks - row.residentBlocks;
    row.residentBlocks = liveBlocks;
  }

  #copy(from: Row, to: Row, length: number): void {
    if (length === 0) return;
    this.#operations.push({ type: 'copy', from: from.index, to: to.index, length });
  }

  #indexOwned(row: Row): void {
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

/** The tokens whose keys and values a row holds. */
function tokenIdsOf({ owner, cached }: Row): Int32Array {
  if (owner) return owner.tokenIds(0, owner.numComputedTokens);
  return cached?.tokenIds ?? new Int32Array();
}

function saltOf({ owner, cached }: Row): string {
  return owner?.request.cacheSalt ?? cached?.salt ?? '';
}

/** Leading tokens that two texts have in common. */
export function commonLength(a: Int32Array, b: Int32Array): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a[index] === b[index]) index++;
  return index;
}
