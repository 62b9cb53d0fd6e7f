import { expect, test } from 'vitest';
import { threadCount } from '../../../src/settings/flags/values.ts';
import { usableCores } from '../../../src/ort/usable-cores.ts';

test('threads are four for each core at most, and the error says so', () => {
  const most = 4 * usableCores();
  expect(threadCount.parse('0')).toBe(0);
  expect(threadCount.parse(String(most))).toBe(most);
  for (const threads of [most + 1, 9999]) {
    expect(() => threadCount.parse(String(threads))).toThrow(
      `expected at most ${most}, 4 for each core that this process may use (${usableCores()})`,
    );
  }
});
