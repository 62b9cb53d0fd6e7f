import { describe, expect, it } from 'vitest';
import { SlotCache, type SlotCacheOptions } from '../../../src/engine/kv-cache/slot-cache.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const text = (length: number, first = 1) => Int32Array.from({ length }, (_, i) => first + i);

function sequenceOf(
  promptTokenIds: Int32Array,
  overrides: { id?: number; cacheSalt?: string } = {},
) {
  return new Sequence(engineRequest({ promptTokenIds, ...overrides }));
}

function cacheOf(options: Partial<SlotCacheOptions> = {}) {
  const cache = new SlotCache({ numSlots: 4, capacity: 64, ...options });
  /** A sequence that ran and left its text behind. */
  const leave = (tokenIds: Int32Array, overrides: { cacheSalt?: string } = {}): void => {
    const sequence = sequenceOf(tokenIds, overrides);
    if (!cache.reserve(sequence, 0)) throw new Error('no slot for the text to be left');
    sequence.numComputedTokens = tokenIds.length;
    cache.registerBlocks(sequence);
    cache.release(sequence, true);
    cache.drainOperations();
  };
  return { cache, leave };
}

describe('prefix reuse', () => {
  it('takes an idle text over in place, token by token, but leaves one to compute', () => {
    const { cache, leave } = cacheOf();
    leave(text(40));
    const same = sequenceOf(text(40));
    expect(cache.reserve(same, 0)).toBe(true);
    expect(same).toMatchObject({ slot: 0, numComputedTokens: 39 });
    expect(cache.drainOperations()).toEqual([]);
    expect([0, 1, 2, 3].map((slot) => cache.cachedTokenIds(slot))).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it('copies from a slot that runs', () => {
    const { cache } = cacheOf();
    const first = sequenceOf(text(40), { id: 1 });
    cache.reserve(first, 0);
    first.numComputedTokens = 40;
    cache.registerBlocks(first);
    const second = sequenceOf(Int32Array.of(...text(37), 99, 98), { id: 2 });
    cache.reserve(second, 0);
    expect(second).toMatchObject({ slot: 1, numComputedTokens: 37 });
    expect(cache.drainOperations()).toEqual([{ type: 'copy', from: 0, to: 1, length: 37 }]);
  });

  it('keeps a shared beginning for the next that asks for it', () => {
    const { cache, leave } = cacheOf();
    leave(text(40));
    const blocker = sequenceOf(text(20, 500), { id: 9 });
    // The text makes way for a running sequence: it moves up.
    cache.reserve(blocker, 0);
    expect(cache.drainOperations()).toEqual([{ type: 'copy', from: 0, to: 3, length: 40 }]);
    const branch = sequenceOf(Int32Array.of(...text(32), 99), { id: 2 });
    cache.reserve(branch, 0);
    expect(branch.numComputedTokens).toBe(32);
    expect(cache.cachedTokenIds(3)).toEqual(text(40));
    // One that carries the whole text on leaves nothing behind.
    const whole = sequenceOf(text(50), { id: 3 });
    cache.reserve(whole, 0);
    expect(whole.numComputedTokens).toBe(40);
    expect(cache.cachedTokenIds(3)).toBeNull();
  });

  it('keeps the rest of a text of which only the beginning is shared', () => {
    const { cache, leave } = cacheOf();
    leave(text(48));
    // The text is in the slot that comes next, where another conversation is to go.
    const branch = sequenceOf(Int32Array.of(...text(32), 99), { id: 2 });
    cache.reserve(branch, 0);
    expect(branch).toMatchObject({ slot: 0, numComputedTokens: 32 });
    expect(cache.cachedTokenIds(3)).toEqual(text(48));
    const next = sequenceOf(text(60), { id: 3 });
    cache.reserve(next, 0);
    expect(next.numComputedTokens).toBe(48);
  });

  it('gives up the text unused for longest, and not the one in its way', () => {
    const { cache, leave } = cacheOf({ numSlots: 2 });
    const [older, newer] = [text(40, 100), text(40, 200)];
    leave(older);
    leave(newer);
    expect(cache.cachedTokenIds(0)).toEqual(newer);
    cache.reserve(sequenceOf(text(20), { id: 9 }), 0);
    expect(cache.cachedTokenIds(1)).toEqual(newer);
  });

  it('gives memory to texts by age too when slots change places', () => {
    const { cache, leave } = cacheOf({ numSlots: 3, maxPages: 6 });
    const [older, newer] = [text(40, 100), text(40, 200)];
    leave(older);
    leave(newer);
    // Three pages each: with one more the budget is spent.
    cache.reserve(sequenceOf(text(16), { id: 9 }), 0);
    const kept = [1, 2].map((slot) => cache.cachedTokenIds(slot));
    expect(kept).toEqual([newer, null]);
    expect(cache.numResidentPages).toBeLessThanOrEqual(6);
  });

  it('never crosses salts, and can be turned off', () => {
    const { cache, leave } = cacheOf();
    leave(text(40), { cacheSalt: 'a' });
    const other = sequenceOf(text(40), { cacheSalt: 'b' });
    cache.reserve(other, 0);
    expect(other.numComputedTokens).toBe(0);
    const off = cacheOf({ prefixCaching: false });
    off.leave(text(40));
    const again = sequenceOf(text(40));
    off.cache.reserve(again, 0);
    expect(again.numComputedTokens).toBe(0);
  });

  it('needs a whole block in common', () => {
    const { cache, leave } = cacheOf();
    leave(text(40));
    const short = sequenceOf(Int32Array.of(...text(15), 99, 98));
    cache.reserve(short, 0);
    expect(short.numComputedTokens).toBe(0);
  });
});

describe('the memory budget', () => {
  it('evicts the text unused for longest, and gives its memory back', () => {
    const { cache, leave } = cacheOf({ maxPages: 6 });
    leave(text(32));
    leave(text(32, 500));
    const big = sequenceOf(text(60, 900), { id: 3 });
    expect(cache.reserve(big, 0)).toBe(true);
    expect(cache.drainOperations()).toContainEqual(expect.objectContaining({ type: 'discard' }));
    expect(cache.numResidentPages).toBeLessThanOrEqual(6);
  });

  it('refuses a slot when memory would not do, and changes nothing', () => {
    const { cache } = cacheOf({ maxPages: 4 });
    const first = sequenceOf(text(48), { id: 1 });
    expect(cache.reserve(first, 0)).toBe(true);
    const second = sequenceOf(text(20, 500), { id: 2 });
    expect(cache.reserve(second, 0)).toBe(false);
    expect(second.slot).toBe(-1);
    expect(cache.drainOperations()).toEqual([]);
    expect(cache.grow(first, 64)).toBe(true);
    expect(cache.reserve(sequenceOf(text(5), { id: 3 }), 0)).toBe(false);
  });

  it('leaves no page to grow for a sequence that has all that one can get', () => {
    const { cache } = cacheOf({ numSlots: 3 });
    // 12 pages of 16 positions, of which each has 4 at most.
    for (const id of [1, 2]) expect(cache.reserve(sequenceOf(text(64), { id }), id - 1)).toBe(true);
    expect(cache.reserve(sequenceOf(text(64), { id: 3 }), 2)).toBe(true);
    const short = cacheOf({ numSlots: 3, maxPages: 6 }).cache;
    expect(short.reserve(sequenceOf(text(40), { id: 1 }), 0)).toBe(true);
    // Three pages of six, and the first may want another.
    expect(short.reserve(sequenceOf(text(40), { id: 2 }), 1)).toBe(false);
    expect(short.reserve(sequenceOf(text(30), { id: 3 }), 1)).toBe(true);
  });

  it('bounds a sequence by the budget as well as by the slot', () => {
    expect(new SlotCache({ numSlots: 2, capacity: 64, maxPages: 3 }).maxTokens).toBe(48);
    expect(new SlotCache({ numSlots: 2, capacity: 64, maxPages: 30 }).maxTokens).toBe(64);
  });
});

it('refuses to release a slot that is not owned', () => {
  const { cache } = cacheOf();
  expect(() => cache.release(sequenceOf(text(3)), true)).toThrow('does not own slot -1');
});
