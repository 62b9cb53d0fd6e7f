import { expect, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { LoopMonitor } from '../../../src/server/operating/loop-monitor.ts';

test('a loop that stands still is noticed at once, and forgotten when its window is over', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const loop = new LoopMonitor();
  // No timer comes meanwhile.
  const standStill = (ms: number) => now.mockReturnValue(performance.now() + ms);
  standStill(300);
  expect(loop.stalledMs).toBe(0);
  standStill(1500);
  expect(loop.stalledMs).toBe(1250);
  standStill(1500);
  expect(loop.stalledMs).toBe(2500);
  standStill(2 * LIMITS.loopWindowMs);
  // Stalls of before are forgotten, and the leap itself is one,
  expect(loop.stalledMs).toBe(2 * LIMITS.loopWindowMs - 250);
  standStill(LIMITS.loopWindowMs);
  // until that was long ago as well.
  expect(loop.stalledMs).toBe(LIMITS.loopWindowMs - 250);
  loop.close();
  now.mockRestore();
});

test('a loop that turns has not stood still', () => {
  vi.useFakeTimers();
  const loop = new LoopMonitor();
  vi.advanceTimersByTime(60_000);
  expect(loop.stalledMs).toBe(0);
  loop.close();
  vi.useRealTimers();
});
