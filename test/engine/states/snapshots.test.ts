import { describe, expect, it } from 'vitest';
import { Snapshots } from '../../../src/engine/states/snapshots.ts';

const textOf = (...tokenIds: number[]) => {
  return { parent: null, tokenIds: Int32Array.from(tokenIds), length: tokenIds.length };
};

function snapshotOf(row: number, tokenIds: readonly number[], isPinned = false) {
  return { row, salt: '', text: textOf(...tokenIds), isPinned };
}

describe('snapshots', () => {
  it('are found by the longest beginning of a text, however their own is cut', () => {
    const snapshots = new Snapshots();
    const parent = textOf(1, 2);
    snapshots.add({ ...snapshotOf(0, []), text: parent });
    const text = { parent, tokenIds: Int32Array.of(3, 4), length: 4 };
    snapshots.add({ ...snapshotOf(1, []), text });
    snapshots.add(snapshotOf(2, [1, 2, 3, 5]));
    const found = (tokenIds: readonly number[], length = tokenIds.length, salt = '') =>
      snapshots.longest(salt, Int32Array.from(tokenIds), length)?.row;
    expect(found([1, 2, 3, 4, 5])).toBe(1);
    expect(found([1, 2, 3, 5, 5])).toBe(2);
    expect(found([1, 2, 3, 6, 5])).toBe(0);
    expect(found([1, 2, 3, 4, 5], 3)).toBe(0);
    expect(found([1, 3, 3, 4])).toBeUndefined();
    expect(found([1, 2, 3, 4, 5], 5, 'other')).toBeUndefined();
  });

  it('are found at every length that one is left of', () => {
    const snapshots = new Snapshots();
    const text = Array.from({ length: 9 }, (_, at) => at + 1);
    for (const length of [5, 2, 8, 5]) {
      const own = text.slice(0, length);
      snapshots.add(snapshotOf(length, length === 5 ? [...own.slice(1), 9] : own));
    }
    snapshots.add(snapshotOf(5, text.slice(0, 5)));
    const lengths = () =>
      text.map((length) => snapshots.longest('', Int32Array.from(text), length)?.row ?? 0);
    expect(lengths()).toEqual([0, 2, 2, 2, 5, 5, 5, 8, 8]);
    for (const length of [8, 5]) {
      const found = snapshots.longest('', Int32Array.from(text), length);
      if (found) snapshots.remove(found);
    }
    expect(lengths()).toEqual([0, 2, 2, 2, 2, 2, 2, 2, 2]);
  });

  it('take the place of one of another text with the same hash, and are not found by it', () => {
    const snapshots = new Snapshots();
    for (let row = 0; ; row++) {
      const tokenIds = [row, Math.imul(row, 0x9e3779b1)];
      const before = snapshots.add(snapshotOf(row, tokenIds));
      if (before === null) continue;
      const find = (text: Int32Array) => snapshots.longest('', text, 2);
      expect(find(Int32Array.from(tokenIds))?.row).toBe(row);
      expect(find(before.text.tokenIds)).toBeNull();
      return;
    }
  });

  it('make way in the order of their last use, pinned ones after all others', () => {
    const snapshots = new Snapshots();
    snapshots.add(snapshotOf(0, [7], true));
    for (const row of [1, 2, 3]) snapshots.add(snapshotOf(row, [7, row]));
    const oldest = snapshots.longest('', Int32Array.of(7, 1), 2);
    if (oldest) snapshots.use(oldest);
    const rows = () => [...snapshots.inOrder()].map(({ row }) => row);
    expect(rows()).toEqual([2, 3, 1, 0]);
    if (oldest) snapshots.remove(oldest);
    expect(rows()).toEqual([2, 3, 0]);
  });
});
