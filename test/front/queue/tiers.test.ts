import { describe, expect, it } from 'vitest';
import { Admission, QueueFullError } from '../../../src/front/queue/admission.ts';

/** Signal of a request of its own. */
const never = () => new AbortController().signal;
const BATCH = { tier: 1000, priority: 1000 };

describe('places of a worse tier', () => {
  it('count as free for a better one', async () => {
    const admission = new Admission({ concurrency: 2, maxQueue: 2 });
    const flood = [1, 2, 3, 4].map(() => admission.acquire(never(), BATCH));
    await Promise.all(flood.slice(0, 2));
    await admission.acquire(never());
    await admission.acquire(never());
    expect([admission.running, admission.waiting]).toEqual([4, 2]);
  });

  it('are its own again when the better ones have ended', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 5 });
    const first = await admission.acquire(never(), BATCH);
    const waiting = admission.acquire(never(), BATCH);
    const better = await admission.acquire(never());
    better();
    expect([admission.running, admission.waiting]).toEqual([1, 1]);
    first();
    await waiting;
    expect([admission.running, admission.waiting]).toEqual([1, 0]);
  });
});

it('a queue full of a worse tier is not full for a better one, but for its own it is', async () => {
  const admission = new Admission({ concurrency: 1, maxQueue: 1 });
  await admission.acquire(never(), BATCH);
  void admission.acquire(never(), BATCH);
  await expect(admission.acquire(never(), BATCH)).rejects.toThrow(QueueFullError);
  expect(() => admission.requireRoom(0)).not.toThrow();
  await admission.acquire(never());
  void admission.acquire(never());
  await expect(admission.acquire(never())).rejects.toThrow(QueueFullError);
});

it('a tier has no more places than its share, and one at least', async () => {
  for (const [share, most] of [
    [0.5, 4],
    [0.01, 1],
    [1, 8],
  ]) {
    const admission = new Admission({ concurrency: 8, maxQueue: 99 });
    for (let count = 0; count < 12; count++) {
      void admission.acquire(never(), { ...BATCH, share: share ?? 1 });
    }
    await Promise.resolve();
    expect(admission.running).toBe(most);
    await admission.acquire(never());
    expect(admission.running).toBe((most ?? 0) + 1);
  }
});
