import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServingPhase } from '../../../src/serving/server/serving-phase.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server with requests of which `finish` ends some. */
function ending(delayMs: number, timeoutMs: number) {
  const lines: Record<string, unknown>[] = [];
  const running = { size: 3 };
  let finishAll = (): void => {};
  const closed: number[] = [];
  let hasStopped = false;
  const phase = new ServingPhase();
  const ended = phase.end({
    delayMs,
    timeoutMs,
    running,
    logger: pino(
      { base: null, timestamp: false },
      { write: (line) => void lines.push(JSON.parse(line)) },
    ),
    stopTaking: () => {
      hasStopped = true;
      return new Promise<void>((resolve) => (finishAll = resolve));
    },
    close: async (graceMs) => void closed.push(graceMs),
  });
  const finish = (count: number): void => {
    running.size -= count;
    if (running.size === 0) finishAll();
  };
  return { phase, lines, closed, finish, ended, stopped: () => hasStopped };
}

test('requests are taken for the delay, while it is not ready any more', async () => {
  const { phase, stopped, finish, ended, closed, lines } = ending(5000, 10_000);
  expect(phase).toMatchObject({ isLeaving: true, isDraining: false });
  await vi.advanceTimersByTimeAsync(4900);
  expect(phase.isDraining).toBe(false);
  expect(stopped()).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(phase.isDraining).toBe(true);
  expect(stopped()).toBe(true);
  finish(3);
  await ended;
  expect(closed[0]).toBeGreaterThan(9000);
  expect(lines).toMatchObject([
    { running: 3, delaySeconds: 5, msg: 'no longer ready' },
    { running: 3, timeoutSeconds: 10, msg: 'draining' },
    { finished: 3, cut: 0, msg: 'drained' },
  ]);
});

test('what takes too long is cut, and counted', async () => {
  const { phase, finish, ended, closed, lines } = ending(0, 10_000);
  expect(phase.isDraining).toBe(true);
  finish(1);
  await vi.advanceTimersByTimeAsync(10_100);
  await ended;
  expect(closed).toEqual([0]);
  expect(lines.at(-1)).toMatchObject({ finished: 1, cut: 2 });
});

test('a server is ready until it is told to end', () => {
  expect(new ServingPhase()).toMatchObject({ isLeaving: false, isDraining: false });
});
