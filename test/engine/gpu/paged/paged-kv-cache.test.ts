import { describe, expect, it } from 'vitest';
import { PagedKvCache } from '../../../../src/engine/gpu/paged/paged-kv-cache.ts';
import { PUBLIC_SALT } from '../../../../src/engine/request.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import { engineRequest } from '../../../support/engine-requests.ts';

const text = (length: number, first = 1) => Int32Array.from({ length }, (_, i) => first + i);

function sequenceOf(
  promptTokenIds: Int32Array,
  overrides: { id?: number; cacheSalt?: string } = {},
) {
  return new Sequence(engineRequest({ promptTokenIds, ...overrides }));
}

function cacheOf(options: { numPages?: number; prefixCaching?: boolean } = {}) {
  const cache = new PagedKvCache({
    numSlots: 4,
    capacity: 128,
    numPages: 8,
    pageLength: 16,
    ...options,
  });
  /** A sequence that has computed all its tokens. */
  const compute = (tokenIds: Int32Array, overrides: { id?: number; cacheSalt?: string } = {}) => {
    const sequence = sequenceOf(tokenIds, overrides);
    if (!cache.reserve(sequence, 0)) throw new Error('no memory');
    sequence.numComputedTokens = tokenIds.length;
    cache.registerBlocks(sequence);
    return sequence;
  };
  return { cache, compute };
}

describe('sharing', () => {
  it('holds the full pages of a sequence that runs, without a copy', () => {
    const { cache, compute } = cacheOf();
    const first = compute(text(40));
    const second = sequenceOf(Int32Array.of(...text(36), 99), { id: 2 });
    cache.reserve(second, 0);
    expect(second).toMatchObject({ slot: 1, numComputedTokens: 32 });
    expect(second.pageTable.slice(0, 2)).toEqual(first.pageTable.slice(0, 2));
    expect(second.pageTable[2]).not.toBe(first.pageTable[2]);
    expect(cache.drainOperations()).toEqual([]);
    expect(cache.usage).toBe(4 / 8);
  });

  it('finds what a finished sequence left, as long as nobody needs the memory', () => {
    const { cache, compute } = cacheOf({ numPages: 4 });
    cache.release(compute(text(40)), true);
    expect(cache.usage).toBe(0);
    const branch = compute(Int32Array.of(...text(32), 99), { id: 2 });
    expect(branch.pageTable).toHaveLength(3);
    cache.release(branch, true);
    cache.release(compute(text(64, 500), { id: 3 }), false);
    const late = sequenceOf(text(40), { id: 4 });
    cache.reserve(late, 0);
    expect(late.numComputedTokens).toBe(0);
  });

  it('evicts the end of a text before its beginning', () => {
    const { cache, compute } = cacheOf({ numPages: 4 });
    cache.release(compute(text(64)), true);
    cache.release(compute(text(32, 500), { id: 2 }), false);
    const again = sequenceOf(text(64), { id: 3 });
    cache.reserve(again, 0);
    expect(again.numComputedTokens).toBe(32);
  });

  it('copies the last page of a prompt that is there as a whole: its last token is computed', () => {
    const { cache, compute } = cacheOf();
    const first = compute(text(32));
    const same = sequenceOf(text(32), { id: 2 });
    cache.reserve(same, 0);
    const [from, to] = [first.pageTable[1], same.pageTable[1]];
    expect(same.numComputedTokens).toBe(31);
    expect(same.pageTable[0]).toBe(first.pageTable[0]);
    expect(to).not.toBe(from);
    expect(cache.drainOperations()).toEqual([{ type: 'copy', from, to, length: 15 }]);
  });

  it('never crosses salts, leaves nothing of what is not to be kept, and can be turned off', () => {
    const { cache, compute } = cacheOf();
    compute(text(32), { cacheSalt: 'a' });
    cache.release(compute(text(32, 500), { id: 2 }), false);
    const off = cacheOf({ prefixCaching: false });
    off.compute(text(32));
    for (const [where, sequence] of [
      [cache, sequenceOf(text(33), { cacheSalt: 'b' })],
      [cache, sequenceOf(text(33, 500), { id: 3 })],
      [off.cache, sequenceOf(text(33), { id: 4 })],
    ] as const) {
      expect(where.reserve(sequence, 0)).toBe(true);
      expect(sequence.numComputedTokens).toBe(0);
    }
  });
});

describe('memory', () => {
  it('refuses what does not fit, and changes nothing', () => {
    const { cache, compute } = cacheOf({ numPages: 4 });
    const first = compute(text(40));
    const second = sequenceOf(text(20, 500), { id: 2 });
    expect(cache.reserve(second, 0)).toBe(false);
    expect(second).toMatchObject({ slot: -1, pageTable: [] });
    expect(cache.reserve(sequenceOf(text(10, 500), { id: 3 }), 1)).toBe(false);
    expect(cache.grow(first, 65)).toBe(false);
    expect(cache.grow(first, 64)).toBe(true);
    expect(first.pageTable).toHaveLength(4);
  });

  it('counts cached pages that are taken up again', () => {
    const { cache, compute } = cacheOf({ numPages: 4 });
    cache.release(compute(text(48)), true);
    // All four pages are free, but three of them are the ones it begins with.
    expect(cache.reserve(sequenceOf(text(64)), 1)).toBe(false);
    expect(cache.reserve(sequenceOf(text(64)), 0)).toBe(true);
  });

  it('bounds a sequence by the pages there are', () => {
    expect(cacheOf({ numPages: 3 }).cache.maxTokens).toBe(48);
    expect(cacheOf({ numPages: 30 }).cache.maxTokens).toBe(128);
  });
});

it('refuses to release a sequence that has no slot', () => {
  const { cache, compute } = cacheOf();
  const sequence = compute(text(8));
  cache.release(sequence, false);
  expect(() => cache.release(sequence, true)).toThrow('has no slot');
});

it('gives the slot of a sequence that has ended to the next one', () => {
  const { cache, compute } = cacheOf();
  const [first, second] = [compute(text(8), { id: 1 }), compute(text(8, 100), { id: 2 })];
  const pages = second.pageTable;
  cache.release(first, false);
  cache.compact();
  expect(second).toMatchObject({ slot: 1, pageTable: pages });
  expect(compute(text(8, 200), { id: 3 }).slot).toBe(0);
  expect(cache.drainOperations()).toEqual([]);
});

describe('pages that everybody finds', () => {
  const cachedOf = (salts: readonly string[]): number[] => {
    const { cache, compute } = cacheOf({ numPages: 32 });
    cache.release(compute(text(32), { cacheSalt: PUBLIC_SALT }), true);
    return salts.map((cacheSalt, index) => {
      const sequence = sequenceOf(text(70), { id: index + 2, cacheSalt });
      cache.reserve(sequence, 0);
      const { numComputedTokens } = sequence;
      sequence.numComputedTokens = 70;
      cache.registerBlocks(sequence);
      cache.release(sequence, true);
      return numComputedTokens;
    });
  };

  it('are found by all; what follows them, by its own client alone', () => {
    expect(cachedOf(['a', 'b', 'a', 'b', 'c'])).toEqual([32, 32, 64, 64, 32]);
  });

  it('are found by those without a salt, as their own are', () => {
    expect(cachedOf(['', ''])).toEqual([32, 64]);
  });
});
