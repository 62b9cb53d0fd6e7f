// Not vitest's expect: with a million checks, most of the time would be its own.
import assert from 'node:assert/strict';
import { SlotLayout } from '../../src/engine/cpu/slot-layout.ts';
import { BLOCK_SIZE } from '../../src/engine/kv-cache/prefix-index.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import type { PrefixTier } from '../../src/engine/prefix-tier/prefix-tier.ts';
import { TieredSlotCache } from '../../src/engine/prefix-tier/tiered-slot-cache.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import { StateCache } from '../../src/engine/states/state-cache.ts';
import type { SharedText } from '../../src/engine/states/snapshots.ts';
import type { WindowBudget } from '../../src/engine/windows/window-budget.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { FakeDecoder } from './fake-decoder.ts';
import { FakeWindows } from './fake-windows.ts';

export interface SlotsShape {
  readonly maxNumSeqs: number;
  readonly capacity: number;
  /** Slots beyond the sequences that may run, for finished texts. */
  readonly spareSlots?: number;
  /** Positions that are given memory together; 16 if left out. */
  readonly pageLength?: number;
  readonly maxPages?: number;
  readonly prefixCaching?: boolean;
  /** Prefixes kept beyond the slots; none if left out. */
  readonly tier?: PrefixTier;
  /** States of a model that has some: rows beyond those of the sequences that may run, and tokens between snapshots. */
  readonly states?: { readonly spareRows: number; readonly spacing: number } | undefined;
  /** Layers with a sliding window; none if left out. */
  readonly windows?: WindowBudget;
}

/** A KV cache in slots over the fake decoder. */
export class CheckedSlots implements CheckedMemory {
  readonly kvCache: SlotCache;
  readonly decoder: FakeDecoder;
  readonly states: StateCache | null;
  readonly costs = new CostModel();
  readonly windows: FakeWindows | null;
  readonly #shareOfWindows: number;
  readonly #pageLength: number;
  readonly #maxNumSeqs: number;

  constructor({ maxNumSeqs, capacity, spareSlots = 0, pageLength = 16, ...shape }: SlotsShape) {
    const { maxPages, prefixCaching = false } = shape;
    const numSlots = maxNumSeqs + spareSlots;
    this.#pageLength = pageLength;
    this.#maxNumSeqs = maxNumSeqs;
    this.states = shape.states
      ? new StateCache({
          numRows: 2 * maxNumSeqs + shape.states.spareRows,
          spacing: shape.states.spacing,
          minLength: BLOCK_SIZE,
          prefixCaching,
        })
      : null;
    const { windows = null } = shape;
    this.windows = windows && new FakeWindows(numSlots, windows.shape.window);
    this.#shareOfWindows = windows ? windows.shape.windowedWidth / windows.shape.width : 0;
    const options = {
      numSlots,
      capacity,
      pageLength,
      prefixCaching,
      states: this.states,
      windows,
      ...(maxPages === undefined ? {} : { maxPages }),
    };
    const { tier } = shape;
    this.kvCache = tier ? new TieredSlotCache(options, tier) : new SlotCache(options);
    const layout = new SlotLayout({ slots: this.kvCache, costs: this.costs });
    this.decoder = new FakeDecoder(numSlots, capacity, layout, this.states, this.windows);
    tier?.attach(this.kvCache, this.decoder);
  }

  check(running: readonly Sequence[]): void {
    if (this.states) this.#checkStates(this.states, running);
    const { numSlots, maxPages, numResidentPages } = this.kvCache;
    const owners = Array.from({ length: numSlots }, (_, slot) => this.kvCache.ownerOf(slot));
    const owned = owners.filter((owner): owner is Sequence => owner !== null);
    assert.equal(new Set(owned).size, running.length);
    for (const sequence of running)
      assert.ok(owned.includes(sequence), 'one that runs has no slot');
    const texts = owners.map((_, slot) => this.kvCache.cachedTokenIds(slot));
    const numTexts = texts.filter((text) => text !== null).length;
    assert.ok(owned.length + numTexts <= numSlots, 'more slots in use than there are');
    assert.ok(numResidentPages <= maxPages, `${numResidentPages} pages of ${maxPages}`);
    // Dead slots write a token each to where nothing is kept.
    const wholePages = this.decoder.touchedPages(this.#pageLength);
    const inWindows = this.windows?.touchedPages(this.#pageLength) ?? 0;
    const share = this.#shareOfWindows;
    const touchedPages = (1 - share) * wholePages + share * inWindows;
    assert.ok(touchedPages <= numResidentPages + this.#maxNumSeqs, `${touchedPages} pages touched`);
    for (const [slot, text] of texts.entries()) {
      if (text) assert.deepEqual(this.decoder.slots[slot]?.slice(0, text.length), [...text]);
    }
    for (const [slot, owner] of owners.entries()) {
      if (!owner) continue;
      assert.equal(owner.slot, slot);
      const { numComputedTokens } = owner;
      const held = this.decoder.slots[slot]?.slice(0, numComputedTokens);
      assert.deepEqual(held, [...owner.tokenIds(0, numComputedTokens)]);
    }
  }

  /** Every row is free, a running sequence's, or of a snapshot, which is of the text that it is found by. */
  #checkStates({ rows, snapshots }: StateCache, running: readonly Sequence[]): void {
    let numKept = 0;
    for (const { row, text } of snapshots) {
      numKept += 1;
      assert.ok(rows.numHolders(row) > 0, 'a snapshot in a free row');
      assert.deepEqual(this.decoder.rows[row], tokensOf(text));
    }
    const numUsed = rows.numRows - rows.numFree;
    assert.ok(numUsed <= numKept + 2 * running.length, `${numUsed} rows are used`);
    if (running.length === 0) assert.equal(numUsed, numKept);
  }
}

function tokensOf({ parent, tokenIds }: SharedText): number[] {
  return [...(parent === null ? [] : tokensOf(parent)), ...tokenIds];
}
