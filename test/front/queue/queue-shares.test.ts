/** Floods of one client and what is left to the others. */
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Admission, QueueFullError, type Release } from '../../../src/front/queue/admission.ts';
import { largestShare } from '../../../src/front/queue/queue-shares.ts';

/** Sends requests and keeps count of them. */
class Flood {
  readonly admission: Admission;
  readonly releases: Release[] = [];
  numRefused = 0;

  constructor(admission: Admission) {
    this.admission = admission;
  }

  /** @returns whether it was let in */
  async send(client: string, numPromptTokens = 0): Promise<boolean> {
    const { numRefused } = this;
    void this.admission
      .acquire(new AbortController().signal, { client, numPromptTokens })
      .then((release) => this.releases.push(release))
      .catch((error: unknown) => {
        if (!(error instanceof QueueFullError)) throw error;
        this.numRefused++;
      });
    await Promise.resolve();
    await Promise.resolve();
    return this.numRefused === numRefused;
  }

  /** Sends until one is refused; returns how many were let in. */
  async fill(client: string, numPromptTokens = 0): Promise<number> {
    for (let count = 0; ; count++) if (!(await this.send(client, numPromptTokens))) return count;
  }
}

function shared(maxQueue: number, concurrency = 1, maxQueueTokens = Infinity): Flood {
  const isShared = () => true;
  return new Flood(new Admission({ concurrency, maxQueue, maxQueueTokens, isShared }));
}

describe('a queue that clients share', () => {
  it.each([1, 2, 3, 10, 256])('of %d places leaves others some when one floods', async (size) => {
    const flood = shared(size);
    expect(await flood.fill('b')).toBe(1 + largestShare(size));
    expect(await flood.fill('a')).toBeGreaterThanOrEqual(Math.max(1, Math.floor(size / 5)));
  });

  it('is filled alike by those that flood', async () => {
    const flood = shared(300);
    const clients = ['a', 'b', 'c', 'd'];
    const counts = new Map(clients.map((client) => [client, 0]));
    for (let round = 0; round < 500; round++) {
      for (const client of clients) {
        if (await flood.send(client)) counts.set(client, (counts.get(client) ?? 0) + 1);
      }
    }
    // 2/9 of the places each, and the one that runs.
    for (const count of counts.values()) expect(Math.abs(count - 66)).toBeLessThanOrEqual(2);
  });

  it('always lets in who has nothing waiting', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 30 }), fc.boolean()), {
          maxLength: 80,
        }),
        async (maxQueue, concurrency, steps) => {
          const flood = shared(maxQueue, concurrency, 40);
          const { admission } = flood;
          for (const [client, tokens, ends] of steps) {
            if (ends) flood.releases.shift()?.();
            else await flood.send(String(client), tokens);
            expect(admission.waiting).toBeLessThanOrEqual(maxQueue + concurrency + 5);
            expect(() => admission.requireRoom(30, 'newcomer')).not.toThrow();
          }
          while (admission.running + admission.waiting > 0) {
            for (const release of flood.releases.splice(0)) release();
            await setImmediate();
          }
          expect(admission.waitingTokens).toBe(0);
          // Nothing is remembered of who is gone: each has the whole share again.
          expect(await flood.fill('0')).toBe(concurrency + largestShare(maxQueue));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is shared by prompt tokens too', async () => {
    const flood = shared(1000, 1, 300);
    expect(await flood.fill('b', 10)).toBe(1 + 20);
    expect(await flood.fill('a', 10)).toBeGreaterThanOrEqual(5);
    expect(await flood.send('c', 500)).toBe(true);
  });

  it('counts prompts that are being made', async () => {
    const { admission } = shared(3);
    const prepared = [admission.prepare('b'), admission.prepare('b'), admission.prepare('b')];
    expect(() => admission.prepare('b')).toThrow(QueueFullError);
    prepared.push(admission.prepare('a'));
    for (const end of prepared) end();
    expect(admission.waiting).toBe(0);
  });
});

it('a queue that is not shared is filled by whoever comes', async () => {
  const flood = new Flood(new Admission({ concurrency: 1, maxQueue: 10 }));
  expect(await flood.fill('b')).toBe(11);
  expect(await flood.send('a')).toBe(false);
});
