import { saltOf, type Slot, tokenIdsOf } from './slot.ts';
import type { BlockLog } from './block-log.ts';
import type { KvCache, PageCounts } from './kv-cache.ts';
import { BLOCK_SIZE, PrefixIndex, wholeBlocks } from './prefix-index.ts';
import { SlotMemory } from './slot-memory.ts';
import { SlotMoves } from './slot-moves.ts';
import type { SlotTable } from './slot-table.ts';
import { commonLength } from '../common-length.ts';
import { provenLength } from '../prompt-embeddings.ts';
import { PUBLIC_SALT } from '../request.ts';
import type { Sequence } from '../sequence.ts';
import type { StateCache } from '../states/state-cache.ts';
import type { CacheOperation } from '../cache-operation.ts';
import { SlotWindows } from '../windows/slot-windows.ts';
import { type WindowBudget, wholePages } from '../windows/window-budget.ts';

export interface SlotCacheOptions {
  readonly numSlots: number;
  /** Positions per slot. */
  readonly capacity: number;
  /** Positions of a slot that are given memory together; 16 if left out. */
  readonly pageLength?: number;
  /** Memory to use at most, in pages of one slot; all slots' worth if left out. */
  readonly maxPages?: number;
  /** Keep what finished sequences computed, for prompts that begin alike. */
  readonly prefixCaching?: boolean;
  /** Receives the changes of the prefix cache. */
  readonly blocks?: BlockLog | null;
  /** States of a model that has some: a sequence begins where there is one. */
  readonly states?: StateCache | null;
  /** Set for a model with sliding windows and no states: their layers keep windows alone. */
  readonly windows?: WindowBudget | null;
}

interface Prefix {
  readonly slot: Slot;
  /** Tokens in common. */
  readonly length: number;
}

/**
 * Which slot of the KV cache holds what: the running sequences in the lowest slots (a run binds a
 * contiguous range), and above them texts of finished ones, kept for reuse until their slot or memory
 * is needed. Bookkeeping alone; `drainOperations` says what to do to the memory.
 */
export class SlotCache implements KvCache, SlotTable {
  readonly numSlots: number;
  readonly capacity: number;
  readonly maxPages: number;
  /** The longest sequence that could ever run: a slot's positions, or what the budget holds. */
  readonly maxTokens: number;
  readonly #memory: SlotMemory;
  readonly #moves: SlotMoves;
  readonly #prefixCaching: boolean;
  readonly #slots: readonly Slot[];
  readonly #index: PrefixIndex;
  readonly #states: StateCache | null;
  readonly #windows: SlotWindows | null;
  #operations: CacheOperation[] = [];
  /** Advances with every use of a cached text: the order of eviction. */
  #clock = 0;

  constructor(options: SlotCacheOptions) {
    const { numSlots, capacity, pageLength = BLOCK_SIZE, prefixCaching = true } = options;
    this.numSlots = numSlots;
    this.capacity = capacity;
    const pages = options.windows ?? wholePages(pageLength);
    this.maxPages = options.maxPages ?? numSlots * pages.pagesOf(capacity);
    this.maxTokens = Math.min(capacity, pages.positionsOf(this.maxPages));
    this.#prefixCaching = prefixCaching;
    const nothing = { owner: null, cached: null, livePages: 0, residentPages: 0 };
    const slots: Slot[] = Array.from({ length: numSlots }, (_, index) => ({ index, ...nothing }));
    this.#slots = slots;
    const push = (operation: CacheOperation) => {
      if (operation.type !== 'copy' || operation.length > 0) this.#operations.push(operation);
    };
    const windows = options.windows ? new SlotWindows(options.windows, push) : null;
    this.#windows = windows;
    const schedule = (operation: CacheOperation) => push(windows?.follow(operation) ?? operation);
    this.#index = new PrefixIndex(options.blocks);
    this.#states = options.states ?? null;
    const parts = { slots, index: this.#index, schedule };
    this.#memory = new SlotMemory({ ...parts, pageLength, pages, maxPages: this.maxPages });
    this.#moves = new SlotMoves({ ...parts, memory: this.#memory });
  }

  /** One more than the highest running slot. */
  get numActiveSlots(): number {
    return this.#slots.findLastIndex(({ owner }) => owner !== null) + 1;
  }

  /** Pages that may be backed by memory. */
  get numResidentPages(): number {
    return this.#memory.numResidentPages;
  }

  /** Pages of running sequences as a share of the budget, 0 to 1. */
  get usage(): number {
    return this.#memory.counts.running / this.maxPages;
  }

  get pages(): PageCounts {
    return this.#memory.counts;
  }

  ownerOf(slot: number): Sequence | null {
    return this.#slots[slot]?.owner ?? null;
  }

  /** The tokens that an idle slot is kept for, or null. */
  cachedTokenIds(slot: number): Int32Array | null {
    return this.#slots[slot]?.cached?.tokenIds ?? null;
  }

  keptLength(slot: number): number {
    return this.cachedTokenIds(slot)?.length ?? 0;
  }

  /**
   * Gives the sequence the lowest idle slot, memory for all its tokens, and the longest prefix that
   * any slot has of them: its computed length starts there.
   * @param numOthers sequences to leave a page each for, unless they have all that a sequence can get: admitting
   *   must not force a preemption at once
   * @returns false, and changes nothing, when there is no slot or not enough memory
   */
  reserve(sequence: Sequence, numOthers: number): boolean {
    const slot = this.#slots.find(({ owner }) => owner === null);
    if (!slot) return false;
    const livePages = this.#memory.pagesOf(sequence.numTokens);
    const largest = this.#memory.pagesOf(this.capacity);
    const growing = this.#slots.filter((each) => each.owner && each.livePages < largest);
    const needed = livePages - slot.residentPages + Math.min(numOthers, growing.length);
    // Keeping the text to copy from may take too much memory: then it is computed again.
    const found = this.longestPrefix(sequence);
    sequence.numKeptTokens = found ? tokenIdsOf(found.slot).length : 0;
    let prefix = found && this.#memory.hasRoom(needed, [slot, found.slot]) ? found : null;
    if (!this.#memory.hasRoom(needed, prefix ? [slot, prefix.slot] : [slot])) return false;
    if (prefix?.slot.cached) prefix.slot.cached.lastUsed = ++this.#clock;

    // If it shares only the beginning of the text, such as a system prompt, the rest is kept too.
    if (prefix?.slot === slot && !mayTakeOver(sequence, prefix)) {
      const moved = this.#moves.moveAway(slot, slot, needed);
      if (moved) prefix = { slot: moved, length: prefix.length };
    }
    if (prefix?.slot === slot)
      this.#index.remove(slot.index, Math.floor(prefix.length / BLOCK_SIZE));
    else this.#moves.vacate(slot, prefix?.slot ?? slot, needed);
    slot.cached = null;
    slot.owner = sequence;
    sequence.slot = slot.index;
    sequence.numComputedTokens = prefix?.length ?? 0;
    this.#memory.makeRoom(needed, prefix ? [slot, prefix.slot] : [slot]);
    this.#memory.setLive(slot, livePages);
    if (prefix && prefix.slot !== slot) {
      this.#moves.copy(prefix.slot, slot, prefix.length);
      // The new sequence continues the whole text: one copy is enough.
      if (mayTakeOver(sequence, prefix)) this.#memory.drop(prefix.slot);
    }
    this.#states?.begin(sequence);
    this.#windows?.begin(sequence);
    this.registerBlocks(sequence);
    return true;
  }

  /**
   * Gives a sequence the slot that holds its first `length` positions already, from an earlier
   * process. Before anything else is reserved.
   */
  adopt(sequence: Sequence, slotIndex: number, length: number): void {
    const slot = this.#slots[slotIndex];
    if (!slot || slot.owner) throw new Error(`slot ${slotIndex} cannot be adopted`);
    slot.owner = sequence;
    sequence.slot = slotIndex;
    // The last token's logits are lost with the process: it is computed once more.
    sequence.numComputedTokens = Math.min(length, sequence.numTokens - 1);
    sequence.numCachedTokens = wholeBlocks(sequence.numComputedTokens);
    this.#memory.setLive(slot, this.#memory.pagesOf(sequence.numTokens));
    this.#windows?.begin(sequence);
    this.registerBlocks(sequence);
  }

  /** Gives back whatever memory idle slots have of an earlier process. */
  discardIdle(): void {
    for (const { owner, index: slot } of this.#slots) {
      if (!owner) this.#operations.push({ type: 'discard', slot, start: 0, end: this.capacity });
    }
  }

  /**
   * Makes sure of memory for `length` positions of a running sequence, at the cost of cached texts.
   * @returns false when only running sequences are left to take it from
   */
  grow(sequence: Sequence, length: number): boolean {
    const slot = this.#slotOf(sequence);
    const livePages = this.#memory.pagesOf(length);
    if (livePages <= slot.livePages) return true;
    if (!this.#memory.makeRoom(livePages - slot.residentPages, [slot])) return false;
    this.#memory.setLive(slot, livePages);
    return true;
  }

  /** Makes what a commit computed findable for prompts that begin alike. */
  registerBlocks(sequence: Sequence): void {
    this.#states?.advance(sequence);
    this.#windows?.advance(sequence);
    if (!this.#prefixCaching) return;
    const { index } = this.#slotOf(sequence);
    const { request, numComputedTokens } = sequence;
    this.#index.extend(index, request.cacheSalt, sequence.tokenIds(), numComputedTokens);
  }

  /**
   * Frees a sequence's slot.
   * @param keep leave what it computed for reuse, for as long as nobody needs the memory
   */
  release(sequence: Sequence, keep: boolean): void {
    const slot = this.#slotOf(sequence);
    const length = sequence.numComputedTokens;
    this.#states?.end(sequence, keep);
    slot.owner = null;
    sequence.slot = -1;
    sequence.numComputedTokens = 0;
    if (keep && this.#prefixCaching && length >= BLOCK_SIZE) {
      const tokenIds = sequence.tokenIds(0, length).slice();
      const { cacheSalt: salt, background, branch } = sequence.request;
      const lastUsed = branch === 'side' ? 0 : ++this.#clock;
      slot.cached = { tokenIds, salt, isPinned: background === 'pin', lastUsed };
      slot.livePages = this.#memory.pagesOf(length);
    } else {
      this.#memory.drop(slot);
    }
  }

  /**
   * Moves the highest running slots into the holes below them, until the running slots are
   * contiguous. A hole costs a dead slot in every decode run; moving costs one copy.
   */
  compact(): void {
    for (;;) {
      const hole = this.#slots.find(({ owner }) => owner === null);
      const last = this.#slots[this.numActiveSlots - 1];
      if (!hole || !last || last.index < hole.index) return;
      const needed = last.livePages - hole.residentPages;
      this.#moves.vacate(hole, last, needed);
      // A copy needs memory for both. Without it the hole stays.
      if (!this.#memory.makeRoom(needed, [hole, last])) break;
      this.#moves.move(last, hole);
    }
    // A hole between running slots is computed as a dead slot, which writes to its first position.
    for (const slot of this.#slots.slice(0, this.numActiveSlots)) {
      if (!slot.owner) this.#memory.drop(slot);
    }
  }

  /** Operations on the memory since the last call, in order. */
  drainOperations(): CacheOperation[] {
    const operations = this.#operations;
    this.#operations = [];
    return operations;
  }

  #slotOf(sequence: Sequence): Slot {
    const slot = this.#slots[sequence.slot];
    if (slot?.owner !== sequence) {
      throw new Error(`sequence ${sequence.id} does not own slot ${sequence.slot}`);
    }
    return slot;
  }

  /** The slot with the most leading tokens in common; one token is always left to compute. */
  longestPrefix(sequence: Sequence): Prefix | null {
    // A prompt that is scored needs the logits of all its tokens, not only their keys and values.
    if (!this.#prefixCaching || sequence.scoresPrompt) return null;
    const wanted = sequence.tokenIds(0, sequence.numTokens - 1);
    let best: Prefix | null = null;
    for (const salt of new Set([sequence.request.cacheSalt, PUBLIC_SALT])) {
      // Where windows are gone, a slot with less in common may have more to go on from.
      for (const index of this.#windows?.slots ?? this.#index.longestMatches(salt, wanted)) {
        const slot = this.#slots[index];
        if (!slot || saltOf(slot) !== salt) continue;
        const shared = provenLength(wanted, commonLength(wanted, tokenIdsOf(slot)));
        const whole = this.#states?.longestShared(sequence, salt, shared) ?? shared;
        const length = this.#windows?.longest(wanted, index, whole) ?? whole;
        if (length >= BLOCK_SIZE && length > (best?.length ?? 0)) best = { slot, length };
      }
    }
    return best;
  }
}

/**
 * Whether nothing is lost with the text that a prefix is of: the sequence goes on with all of it, but
 * perhaps for the last token, since one token is always computed. A pinned text is for all.
 */
function mayTakeOver({ request }: Sequence, { slot: { cached }, length }: Prefix): boolean {
  if (cached === null || length < cached.tokenIds.length - 1) return false;
  return !cached.isPinned || request.background === 'pin';
}
