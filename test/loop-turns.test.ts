import { expect, test } from 'vitest';
import { LoopTurns } from '../src/loop-turns.ts';

const PER_TURN = 4;

const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

test('requests that come at once begin a few in each turn, in their order', async () => {
  const turns = new LoopTurns(PER_TURN);
  const begun: number[] = [];
  const come = async (request: number) => {
    await turns.next('anna');
    begun.push(request);
  };
  const num = 5 * PER_TURN + 3;
  const all = Array.from({ length: num }, (_, request) => come(request));
  const counts: number[] = [];
  while (begun.length < num) {
    await turnOfLoop();
    counts.push(begun.length);
    // A request that comes in between comes after those that wait.
    if (counts.length === 2) all.push(come(num));
  }
  await Promise.all(all);
  expect(begun).toEqual(Array.from({ length: num + 1 }, (_, request) => request));
  const steps = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
  expect(steps.slice(1).filter((step) => step > 0)).toHaveLength(5);
  expect(Math.max(...steps.slice(1))).toBeLessThanOrEqual(PER_TURN);
});

test('a request that comes alone does not wait', async () => {
  const turns = new LoopTurns(PER_TURN);
  for (let request = 0; request < 3; request++) {
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    await turns.next('anna');
    expect(hasTurned).toBe(false);
    await turnOfLoop();
    await turnOfLoop();
  }
});

test('a client with few pieces of work does not wait for one with many', async () => {
  const turns = new LoopTurns(PER_TURN);
  let numBegun = 0;
  const many = Array.from({ length: 100 * PER_TURN }, async () => {
    await turns.next('anna');
    numBegun++;
  });
  await turns.next('bert');
  expect(numBegun).toBeLessThanOrEqual(2 * PER_TURN);
  await Promise.all(many);
});
