import { expect, it } from 'vitest';
import { CrashBreaker } from '../../../src/front/engine-process/crash-breaker.ts';

it('restarts at once, then after pauses that double up to a minute', () => {
  const breaker = new CrashBreaker();
  const pauses = Array.from({ length: 10 }, () => breaker.crashed());
  expect(pauses).toEqual([0, 0, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

it('closes with the first token', () => {
  const breaker = new CrashBreaker();
  for (let crash = 0; crash < 5; crash++) breaker.crashed();
  breaker.progressed();
  expect([breaker.crashed(), breaker.crashed(), breaker.crashed()]).toEqual([0, 0, 2000]);
});
