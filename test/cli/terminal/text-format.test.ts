import { expect, test } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatTime,
  table,
} from '../../../src/cli/terminal/text-format.ts';

test.each([
  [formatCount(5_500_000), '5.5M'],
  [formatCount(1_540_000_000), '1.5B'],
  [formatBytes(1), '1 MiB'],
  [formatBytes(3 * 2 ** 29), '1.5 GiB'],
  [formatTime(-5), '0 seconds'],
  [formatTime(1000), '1 second'],
  [formatTime(299_999), '4 minutes'],
  [formatTime(86_400_000), '1 day'],
])('%s', (text, expected) => {
  expect(text).toBe(expected);
});

test('columns are as wide as what is in them', () => {
  expect(table(['A', 'LONG'], [['value', 'b']])).toBe('A       LONG\nvalue   b');
  expect(table(['A'], [])).toBe('A');
});
