import { expect, test } from 'vitest';
import { foursOf } from '../../../src/model/huggingface/fours-of.ts';

test('words are the bytes, without what is left at the end', () => {
  const bytes = Uint8Array.from({ length: 15 }, (_, index) => index);
  expect([...foursOf(bytes.subarray(4))]).toEqual([0x07060504, 0x0b0a0908]);
});

test('more than 2 GiB are as many words', () => {
  // No memory is taken before it is touched.
  expect(foursOf(new Uint8Array(2 ** 31 + 8))).toHaveLength(2 ** 29 + 2);
});
