import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Admission,
  QueueFullError,
  type Release,
  ShuttingDownError,
} from '../../../src/front/queue/admission.ts';

const never = new AbortController().signal;

async function refusalOf(admission: Admission): Promise<QueueFullError> {
  const error: unknown = await admission.acquire(never).catch((reason: unknown) => reason);
  if (!(error instanceof QueueFullError)) throw new Error('the request was not refused');
  return error;
}

describe('Admission', () => {
  it('runs as many as it may, lets as many wait and refuses the rest', async () => {
    const admission = new Admission({ concurrency: 2, maxQueue: 1 });
    const first = await admission.acquire(never);
    await admission.acquire(never);
    const third = admission.acquire(never);
    expect([admission.running, admission.waiting]).toEqual([2, 1]);
    await expect(admission.acquire(never)).rejects.toThrow(QueueFullError);
    first();
    await third;
    expect([admission.running, admission.waiting]).toEqual([2, 0]);
  });

  it('refuses what cannot start at once when nothing may wait', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 0 });
    const release = await admission.acquire(never);
    await expect(admission.acquire(never)).rejects.toThrow(QueueFullError);
    release();
    // At once, in the same turn of the event loop.
    await expect(admission.acquire(never)).resolves.toBeTypeOf('function');
  });

  it('gives a place back once, however often it is released', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 5 });
    const release = await admission.acquire(never);
    const second = admission.acquire(never);
    const third = admission.acquire(never);
    release();
    release();
    await second;
    await setImmediate();
    expect([admission.running, admission.waiting]).toEqual([1, 1]);
    (await second)();
    await third;
    expect([admission.running, admission.waiting]).toEqual([1, 0]);
  });

  it('lets an aborted request leave the queue at once', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 1 });
    const release = await admission.acquire(never);
    const controller = new AbortController();
    const waiting = admission.acquire(controller.signal);
    controller.abort(new Error('gone'));
    expect(admission.waiting).toBe(0);
    const next = admission.acquire(never);
    expect(admission.waiting).toBe(1);
    await expect(waiting).rejects.toThrow('gone');
    release();
    await next;
    await expect(admission.acquire(AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });

  it('takes no place for a request that goes wrong when its turn comes', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 2 });
    const release = await admission.acquire(never);
    const { signal } = new AbortController();
    signal.removeEventListener = () => {
      throw new Error('went wrong');
    };
    const wrong = admission.acquire(signal);
    const next = admission.acquire(never);
    // Whoever makes room is not to blame.
    release();
    await expect(wrong).rejects.toThrow('went wrong');
    (await next)();
    expect([admission.running, admission.waiting]).toEqual([0, 0]);
  });

  it('keeps the place of a running request whose signal aborts', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 1 });
    const controller = new AbortController();
    const release = await admission.acquire(controller.signal);
    const next = admission.acquire(never);
    controller.abort();
    await setImmediate();
    expect([admission.running, admission.waiting]).toEqual([1, 1]);
    release();
    await next;
  });

  it('lets the lowest priority go first, and the first among equals', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 10 });
    const release = await admission.acquire(never);
    const order: string[] = [];
    const requests = [
      ['c', 1],
      ['a', -1],
      ['b', 0],
      ['d', 1],
    ] as const;
    const all = requests.map(async ([name, priority]) => {
      const done = await admission.acquire(never, { priority });
      order.push(name);
      done();
    });
    release();
    await Promise.all(all);
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  it('refuses new requests once closed, and ends those that wait in turn', async () => {
    const admission = new Admission({ concurrency: 1, maxQueue: 1 });
    const release = await admission.acquire(never);
    const waiting = admission.acquire(never);
    admission.close();
    await expect(admission.acquire(never)).rejects.toThrow(ShuttingDownError);
    let isIdle = false;
    const idle = admission.onIdle().then(() => {
      isIdle = true;
    });
    release();
    const last = await waiting;
    await setImmediate();
    expect(isIdle).toBe(false);
    last();
    await idle;
    expect(admission.running).toBe(0);
  });

  it('counts right under any order of arrivals, releases and aborts', async () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('acquire' as const) }),
      fc.record({ type: fc.constantFrom('release' as const, 'abort' as const), pick: fc.nat() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const admission = new Admission({ concurrency: 2, maxQueue: 2 });
        const held: Release[] = [];
        const queued = new Map<AbortController, Promise<void>>();
        for (const action of steps) {
          if (action.type === 'acquire') {
            const controller = new AbortController();
            const entry = admission.acquire(controller.signal).then(
              (release) => {
                held.push(release);
                queued.delete(controller);
              },
              () => {
                queued.delete(controller);
              },
            );
            queued.set(controller, entry);
          } else if (action.type === 'release') {
            held.splice(action.pick % Math.max(held.length, 1), 1)[0]?.();
          } else {
            [...queued.keys()][action.pick % Math.max(queued.size, 1)]?.abort();
          }
          await setImmediate();
          expect(admission.running).toBe(held.length);
          expect(admission.waiting).toBe(queued.size);
          expect(held.length).toBeLessThanOrEqual(2);
          expect(queued.size === 0 || held.length === 2).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });

  describe('Retry-After', () => {
    it('is a second as long as nothing is known', async () => {
      const admission = new Admission({ concurrency: 1, maxQueue: 0 });
      await admission.acquire(never);
      expect((await refusalOf(admission)).retryAfterSeconds).toBe(1);
    });

    it('follows the rate of completions and the length of the queue', async () => {
      let now = 0;
      const admission = new Admission({ concurrency: 1, maxQueue: 3, now: () => now });
      const completeOne = async (ms: number): Promise<void> => {
        const release = await admission.acquire(never);
        now += ms;
        release();
      };
      for (let i = 0; i < 100; i++) await completeOne(2000);
      // An idle server is not a slow one.
      now += 3_600_000;
      const releases = [await admission.acquire(never)];
      const waiting = [1, 2, 3].map(async () => admission.acquire(never));
      // Three wait: the fourth to come starts after four completions of two seconds.
      expect((await refusalOf(admission)).retryAfterSeconds).toBe(8);
      now += 600_000;
      // Nothing has been completed for ten minutes.
      expect((await refusalOf(admission)).retryAfterSeconds).toBe(60);
      releases[0]?.();
      for (const next of waiting) (await next)();
    });

    it('is a second at least', async () => {
      let now = 0;
      const admission = new Admission({ concurrency: 1, maxQueue: 0, now: () => now });
      for (let i = 0; i < 100; i++) {
        const release = await admission.acquire(never);
        now += 5;
        release();
      }
      await admission.acquire(never);
      expect((await refusalOf(admission)).retryAfterSeconds).toBe(1);
    });
  });
});
