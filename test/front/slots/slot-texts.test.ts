import { expect, it } from 'vitest';
import { SlotTexts } from '../../../src/front/slots/slot-texts.ts';
import { LIMITS } from '../../../src/limits.ts';

const text = (length: number) => ({ tokenIds: new Int32Array(length), cacheSalt: '' });

it('has the last text of each slot of each client', () => {
  const texts = new SlotTexts(2);
  texts.put('anna', 0, text(1));
  texts.put('anna', 0, text(2));
  texts.put('bert', 1, text(3));
  texts.put('anna', 2, text(4));
  const lengths = [0, 1, 2].map((slot) => texts.get('anna', slot)?.tokenIds.length);
  expect(lengths).toEqual([2, undefined, undefined]);
  expect(texts.get('1 bert', 0)).toBeNull();
  expect(texts.remove('anna', 0)).toBe(2);
  expect(texts.remove('anna', 0)).toBe(0);
  expect(texts.get('bert', 1)?.tokenIds.length).toBe(3);
});

it('forgets the oldest beyond its bounds', () => {
  const texts = new SlotTexts(1);
  const long = LIMITS.slotTextTokens / 4;
  for (const client of ['a', 'b', 'c', 'd', 'e']) texts.put(client, 0, text(long));
  expect(['a', 'b', 'e'].map((client) => texts.get(client, 0) !== null)).toEqual([
    false,
    true,
    true,
  ]);
  for (let at = 0; at < LIMITS.slotTexts; at++) texts.put(`${at}`, 0, text(1));
  expect([texts.get('e', 0), texts.get('0', 0)?.tokenIds.length]).toEqual([null, 1]);
});
