import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { RequestTurns } from '../../../src/server/http/request-turns.ts';

const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

test('requests that come at once begin a few in each turn, in their order', async () => {
  const turns = new RequestTurns();
  const begun: number[] = [];
  const come = async (request: number) => {
    await turns.next();
    begun.push(request);
  };
  const num = 5 * LIMITS.requestsPerTurn + 3;
  const all = Array.from({ length: num }, (_, request) => come(request));
  const counts: number[] = [];
  while (begun.length < num) {
    await turnOfLoop();
    counts.push(begun.length);
    // Who comes in between comes after those that wait.
    if (counts.length === 2) all.push(come(num));
  }
  await Promise.all(all);
  expect(begun).toEqual(Array.from({ length: num + 1 }, (_, request) => request));
  const steps = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
  expect(steps).toHaveLength(5);
  expect(Math.max(...steps.slice(1))).toBeLessThanOrEqual(LIMITS.requestsPerTurn);
});

test('a request that comes alone does not wait', async () => {
  const turns = new RequestTurns();
  for (let request = 0; request < 3; request++) {
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    await turns.next();
    expect(hasTurned).toBe(false);
    await turnOfLoop();
    await turnOfLoop();
  }
});
