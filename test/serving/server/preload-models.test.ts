import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listOf, preload } from '../../../src/settings/flags/values.ts';
import { msUntil, preloadModels } from '../../../src/serving/server/preload-models.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: new Date(2026, 2, 5, 8, 0, 0) });
});

afterEach(() => {
  vi.useRealTimers();
});

const logger = pino({ level: 'silent' });

const preloads = listOf(preload);

test('names, and times of a day', () => {
  expect(preloads.parse(['chat', 'big@1=08:30'])).toEqual([
    { name: 'chat', minutes: null },
    { name: 'big@1', minutes: 510 },
  ]);
  for (const text of ['', 'a=8', 'a=24:00', 'a=08:60', '=08:00']) {
    expect(preloads.safeParse([text]).success).toBe(false);
  }
});

test('the next time is today, or tomorrow where it was already', () => {
  const at = (hours: number, minutes: number) => new Date(2026, 2, 5, hours, minutes);
  expect(msUntil(510, at(8, 0))).toBe(30 * 60_000);
  expect(msUntil(510, at(8, 30))).toBe(24 * 3_600_000);
  expect(msUntil(510, at(9, 0))).toBe(23.5 * 3_600_000);
});

test('models are loaded at the start or each day, and let go at once', async () => {
  const loaded: (string | null)[] = [];
  let numHeld = 0;
  const acquire = vi.fn(async (name: string | null) => {
    loaded.push(name);
    if (name === 'broken') throw new Error('no such model');
    numHeld++;
    return { definition: { name }, release: () => numHeld-- } as never;
  });
  preloadModels(preloads.parse(['broken', 'chat', 'big=08:30']), { acquire }, logger);
  await vi.advanceTimersByTimeAsync(29 * 60_000);
  expect(loaded).toEqual(['broken', 'chat']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(loaded).toEqual(['broken', 'chat', 'big']);
  await vi.advanceTimersByTimeAsync(48 * 3_600_000);
  expect(loaded.slice(2)).toEqual(['big', 'big', 'big']);
  expect(numHeld).toBe(0);
});

test('once that is ended, no more models are loaded', async () => {
  const acquire = vi.fn(async () => {
    throw new Error('no such model');
  });
  const end = preloadModels([{ name: 'big', minutes: 510 }], { acquire }, logger);
  await vi.advanceTimersByTimeAsync(24 * 3_600_000);
  expect(acquire).toHaveBeenCalledTimes(1);
  end();
  await vi.advanceTimersByTimeAsync(48 * 3_600_000);
  expect(acquire).toHaveBeenCalledTimes(1);
});
