import { expect } from 'vitest';
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
    expect(new Set(owned)).toEqual(new Set(running));
    const texts = owners.map((_, slot) => this.kvCache.cachedTokenIds(slot));
    const numTexts = texts.filter((text) => text !== null).length;
    expect(owned.length + numTexts).toBeLessThanOrEqual(numSlots);
    expect(numResidentPages).toBeLessThanOrEqual(maxPages);
    // Dead slots write a token each to where nothing is kept.
    const touchedPages = this.decoder.touchedPages(this.#pageLength);
    expect(touchedPages).toBeLessThanOrEqual(numResidentPages + this.#maxNumSeqs);
    for (const [slot, text] of texts.entries()) {
      if (text) expect(this.decoder.slots[slot]?.slice(0, text.length)).toEqual([...text]);
    }
    for (const [slot, owner] of owners.entries()) {
      if (!owner) continue;
      expect(owner.slot).toBe(slot);
      const { numComputedTokens } = owner;
      const held = this.decoder.slots[slot]?.slice(0, numComputedTokens);
      expect(held).toEqual([...owner.tokenIds(0, numComputedTokens)]);
    }
  }
}
