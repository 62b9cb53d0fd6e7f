import { expect, test } from 'vitest';
import { jsonPieces } from '../../../src/server/http/json-pieces.ts';
import { LazyList } from '../../../src/server/http/lazy-list.ts';

const squares = (made: number[] = []) =>
  LazyList.from([1, 2, 3], (value) => {
    made.push(value);
    return value * value;
  });

test('a lazy list is written as an array, whole and in pieces', () => {
  const answer = { a: squares(), b: LazyList.concat([null], squares()), none: LazyList.concat() };
  const expected = '{"a":[1,4,9],"b":[null,1,4,9],"none":[]}';
  expect(JSON.stringify(answer)).toBe(expected);
  expect([...jsonPieces(answer)].join('')).toBe(expected);
});

test('its elements are made one by one, when they are written', () => {
  const made: number[] = [];
  const elements = squares(made)[Symbol.iterator]();
  expect(made).toEqual([]);
  elements.next();
  expect(made).toEqual([1]);
});
