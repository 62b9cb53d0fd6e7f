import { expect, test } from 'vitest';
import { parseDuration } from '../../../src/front/registry/duration.ts';

test.each([
  [300, 300_000],
  ['300', 300_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['20ms', 20],
  [0, 0],
  ['0', 0],
  [-1, Infinity],
  ['-1', Infinity],
  ['-1m', Infinity],
])('%j is %d milliseconds', (value, ms) => {
  expect(parseDuration(value)).toBe(ms);
});

test.each([
  '',
  'long',
  '5 m',
  '5d',
  'm5',
  '5m!',
  '9'.repeat(40) + 'm',
  NaN,
  Infinity,
  null,
  [],
  {},
])('%j is no duration', (value) => {
  expect(parseDuration(value)).toBeNull();
});
