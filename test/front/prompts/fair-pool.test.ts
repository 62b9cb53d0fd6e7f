import { afterAll, expect, test } from 'vitest';
import { FairPool } from '../../../src/front/prompts/fair-pool.ts';

const threads = new FairPool<Int32Array, number>({
  entry: new URL('./support/thread-worker.ts', import.meta.url),
  workerData: null,
  maxThreads: 2,
  heapMb: 64,
  deadlineMs: 60_000,
  largeCost: 10,
});
afterAll(() => threads.close());
const caller = { client: '', signal: new AbortController().signal };

/** @returns the threads that ran tasks which wait for each other, so that each has one of its own */
async function runTogether(count: number, cost: number): Promise<Set<number>> {
  const arrived = new Int32Array(new SharedArrayBuffer(4));
  const runs = Array.from({ length: count }, () => threads.run(arrived, caller, cost));
  return new Set(await Promise.all(runs));
}

test('large tasks have one thread for all: what they leave in it does not add up', async () => {
  const small = await runTogether(2, 1);
  expect(small.size).toBe(2);
  const large = new Set<number>();
  for (let run = 0; run < 6; run++) {
    const open = Int32Array.of(2);
    for (const each of await Promise.all([1, 2].map(() => threads.run(open, caller, 11)))) {
      large.add(each);
    }
  }
  expect(large.size).toBe(1);
  expect([...large].filter((each) => small.has(each))).toEqual([]);
});
