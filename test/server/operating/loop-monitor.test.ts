import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { LoopMonitor } from '../../../src/server/operating/loop-monitor.ts';

function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('a loop that stands still is noticed at once, and forgotten when its window is over', async () => {
  const loop = new LoopMonitor();
  await sleep(50);
  standStill(1500);
  const { stalledMs } = loop;
  expect(stalledMs).toBeGreaterThan(1000);
  standStill(1500);
  expect(loop.stalledMs).toBeGreaterThan(stalledMs + 1000);
  const now = vi.spyOn(performance, 'now');
  const end = performance.now() + 2 * LIMITS.loopWindowMs;
  now.mockReturnValue(end);
  // The leap itself is a stall, and then it has been long ago.
  expect(loop.stalledMs).toBeGreaterThan(LIMITS.loopWindowMs);
  now.mockReturnValue(end + LIMITS.loopWindowMs);
  expect(loop.stalledMs).toBeGreaterThan(0);
  now.mockRestore();
  loop.close();
});

test('a loop that turns has not stood still', () => {
  vi.useFakeTimers();
  const loop = new LoopMonitor();
  vi.advanceTimersByTime(60_000);
  expect(loop.stalledMs).toBe(0);
  loop.close();
  vi.useRealTimers();
});
