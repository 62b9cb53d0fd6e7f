// Not vitest's expect: with a million checks, most of the time would be its own.
import assert from 'node:assert/strict';
import { SlotLayout } from '../../src/engine/cpu/slot-layout.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { FakeDecoder } from './fake-decoder.ts';

export interface SlotsShape {
  readonly maxNumSeqs: number;
  readonly capacity: number;
  /** Slots beyond the sequences that may run, for finished texts. */
  readonly spareSlots?: number;
  /** Positions that are given memory together; 16 if left out. */
  readonly pageLength?: number;
  readonly maxPages?: number;
  readonly prefixCaching?: boolean;
}

/** A KV cache in slots over the fake decoder. */
export class CheckedSlots implements CheckedMemory {
  readonly kvCache: SlotCache;
  readonly decoder: FakeDecoder;
  readonly costs = new CostModel();
  readonly #pageLength: number;
  readonly #maxNumSeqs: number;

  constructor({ maxNumSeqs, capacity, spareSlots = 0, pageLength = 16, ...shape }: SlotsShape) {
    const { maxPages, prefixCaching = false } = shape;
    const numSlots = maxNumSeqs + spareSlots;
    this.#pageLength = pageLength;
    this.#maxNumSeqs = maxNumSeqs;
    this.kvCache = new SlotCache({
      numSlots,
      capacity,
      pageLength,
      prefixCaching,
      ...(maxPages === undefined ? {} : { maxPages }),
    });
    const layout = new SlotLayout({ slots: this.kvCache, costs: this.costs });
    this.decoder = new FakeDecoder(numSlots, capacity, layout);
  }

  check(running: readonly Sequence[]): void {
    const { numSlots, maxPages, numResidentPages } = this.kvCache;
    const owners = this.kvCache.owners();
    const owned = owners.filter((owner): owner is Sequence => owner !== null);
    assert.equal(new Set(owned).size, running.length);
    for (const sequence of running)
      assert.ok(owned.includes(sequence), 'one that runs has no slot');
    const texts = owners.map((_, slot) => this.kvCache.cachedTokenIds(slot));
    const numTexts = texts.filter((text) => text !== null).length;
    assert.ok(owned.length + numTexts <= numSlots, 'more slots in use than there are');
    assert.ok(numResidentPages <= maxPages, `${numResidentPages} pages of ${maxPages}`);
    // Dead slots write a token each to where nothing is kept.
    const touchedPages = this.decoder.touchedPages(this.#pageLength);
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
}
