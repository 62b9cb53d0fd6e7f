import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SlowNotice } from '../../../src/serving/progress/slow-notice.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('what takes less than a moment is not mentioned; what takes longer is, within two seconds', async () => {
  const said: string[] = [];
  const notice = new SlowNotice((what) => said.push(what));
  notice.begin('opening a');
  vi.advanceTimersByTime(1000);
  notice.begin('loading a');
  vi.advanceTimersByTime(1000);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(said).toEqual(['loading a']);
  await notice.during('loading b', Promise.resolve());
  vi.advanceTimersByTime(10_000);
  expect(said).toEqual(['loading a']);
});
