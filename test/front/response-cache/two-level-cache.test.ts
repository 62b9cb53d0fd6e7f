import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  type SecondLevel,
  TwoLevelCache,
} from '../../../src/front/response-cache/two-level-cache.ts';

const bytes = (size: number) => new Uint8Array(size).fill(7);

class FakeStore implements SecondLevel {
  readonly entries = new Map<string, Buffer>();
  isBroken = false;

  async get(key: string) {
    if (this.isBroken) throw new Error('gone');
    return this.entries.get(key) ?? null;
  }

  async set(key: string, value: Uint8Array) {
    if (this.isBroken) throw new Error('gone');
    this.entries.set(key, Buffer.from(value));
  }
}

function clocked(second: SecondLevel | null = null) {
  const clock = { ms: 1000 };
  const cache = new TwoLevelCache({
    maxBytes: 4096,
    maxEntryBytes: 1024,
    ttlMs: 10_000,
    second,
    now: () => clock.ms,
  });
  return { clock, cache };
}

describe('in memory', () => {
  test('an answer has an age, and goes when it is too old', async () => {
    const { clock, cache } = clocked();
    cache.set('a', bytes(10));
    clock.ms += 4000;
    expect(await cache.get('a', null)).toEqual({ bytes: bytes(10), ageMs: 4000, level: 'memory' });
    expect(await cache.get('a', 3000)).toBeNull();
    clock.ms += 6001;
    expect(await cache.get('a', null)).toBeNull();
  });

  test('all answers together have a bound, and the one unused for longest goes', async () => {
    const { cache } = clocked();
    for (const key of ['a', 'b', 'c']) cache.set(key, bytes(1000));
    await cache.get('a', null);
    cache.set('d', bytes(1000));
    expect(await cache.get('b', null)).toBeNull();
    expect(await cache.get('a', null)).not.toBeNull();
    expect(cache.stats).toMatchObject({ entries: 3, evictions: 1 });
    expect(cache.stats.bytes).toBeLessThanOrEqual(4096);
  });

  test('a long answer is not kept', async () => {
    const { cache } = clocked();
    cache.set('a', bytes(1025));
    expect(await cache.get('a', null)).toBeNull();
  });
});

describe('with a store that replicas share', () => {
  test('another replica finds the answer, with its age, and then has it in memory', async () => {
    const store = new FakeStore();
    const one = clocked(store);
    const two = clocked(store);
    one.cache.set('a', bytes(10));
    await setImmediate();
    two.clock.ms += 3000;
    expect(await two.cache.get('a', null)).toEqual({
      bytes: bytes(10),
      ageMs: 3000,
      level: 'redis',
    });
    store.isBroken = true;
    two.clock.ms += 1000;
    expect(await two.cache.get('a', null)).toEqual({
      bytes: bytes(10),
      ageMs: 4000,
      level: 'memory',
    });
  });

  test('a broken store costs the hits, and is counted', async () => {
    const store = new FakeStore();
    const { cache } = clocked(store);
    store.isBroken = true;
    expect(await cache.get('a', null)).toBeNull();
    cache.set('a', bytes(10));
    await setImmediate();
    expect(await cache.get('a', null)).toMatchObject({ level: 'memory' });
    expect(cache.stats.errors).toBe(2);
  });
});
