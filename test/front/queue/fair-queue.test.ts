import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { AGING_MS } from '../../../src/engine/request.ts';
import { FairQueue, type FairQueueOptions } from '../../../src/front/queue/fair-queue.ts';

/** Fills a queue with named requests; `drain` gives the names in the order in which they leave. */
function queueOf(requests: readonly (FairQueueOptions & { name: string })[]) {
  const queue = new FairQueue();
  const left: string[] = [];
  const add = ({ name, ...options }: FairQueueOptions & { name: string }) =>
    queue.enqueue(async () => left.push(name), options);
  for (const request of requests) add(request);
  const take = async () => {
    await queue.dequeue()?.();
    return left.at(-1);
  };
  const drain = async () => {
    while (queue.size > 0) await take();
    return left;
  };
  return { queue, add, take, drain };
}

const flood = (client: string, length: number, cost = 10) =>
  Array.from({ length }, (_, index) => ({ name: `${client}${index}`, client, cost }));

afterEach(() => {
  vi.useRealTimers();
});

describe('the fair queue', () => {
  it("serves one client's requests in order of arrival", async () => {
    expect(await queueOf(flood('a', 4)).drain()).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  it('lets clients take turns', async () => {
    const { drain } = queueOf([...flood('a', 3), ...flood('b', 3)]);
    expect(await drain()).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  });

  it("puts another client's single request ahead of a flood", async () => {
    const { add, take } = queueOf(flood('a', 200));
    for (let served = 0; served < 20; served++) await take();
    add({ name: 'single', client: 'b', cost: 10 });
    const next = [await take(), await take()];
    expect(next).toContain('single');
  });

  it('weighs turns by what requests take', async () => {
    const { drain } = queueOf([...flood('long', 3, 30), ...flood('short', 6, 10)]);
    const order = await drain();
    expect(order.slice(0, 5)).toEqual(['long0', 'short0', 'short1', 'short2', 'long1']);
  });

  it('owes nothing to a client for the time it was away', async () => {
    const { add, take, drain } = queueOf(flood('a', 50));
    for (let served = 0; served < 40; served++) await take();
    for (const request of flood('b', 20)) add(request);
    const order = await drain();
    // Not all of b's before a's next: turns from here on.
    expect(order.slice(40, 46).filter((name) => name.startsWith('a'))).toHaveLength(3);
  });

  it('goes by priority first, but age makes up for it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { add, drain } = queueOf([{ name: 'low', client: 'a', level: 2 }]);
    add({ name: 'high', client: 'b', level: 0 });
    vi.advanceTimersByTime(2.5 * AGING_MS);
    add({ name: 'newer', client: 'c', level: 1 });
    expect(await drain()).toEqual(['low', 'high', 'newer']);
    const fresh = queueOf([{ name: 'low', level: 2 }]);
    fresh.add({ name: 'high', client: 'b', level: 0 });
    expect(await fresh.drain()).toEqual(['high', 'low']);
  });

  it("lets age make up for priority among one client's requests too", async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { add, drain } = queueOf([{ name: 'old and low', client: 'a', level: 1 }]);
    vi.advanceTimersByTime(1.5 * AGING_MS);
    add({ name: 'new and high', client: 'a', level: 0 });
    add({ name: 'new and low', client: 'a', level: 1 });
    expect(await drain()).toEqual(['old and low', 'new and high', 'new and low']);
  });

  it("starves nobody's lowest priority by a flood of the highest", async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const levels = LIMITS.priorities.max - LIMITS.priorities.min;
    const { add, take } = queueOf([{ name: 'low', client: 'a', level: levels, cost: 10 }]);
    const [first, ...coming] = flood('b', 2000);
    if (first) add({ ...first, level: 0 });
    let minutes = 0;
    // One more of the flood for each that leaves, a minute at a time.
    for (const next of coming) {
      add({ ...next, level: 0 });
      vi.advanceTimersByTime(AGING_MS);
      minutes++;
      if ((await take()) === 'low') break;
    }
    expect(minutes).toBeLessThanOrEqual(levels + 2);
  });

  it('forgets a request that is taken out', async () => {
    const { queue, drain } = queueOf([
      { name: 'x', id: '1' },
      { name: 'y', id: '2' },
    ]);
    queue.remove('1');
    expect(queue.size).toBe(1);
    expect(await drain()).toEqual(['y']);
  });

  it('loses and repeats nothing, and keeps clients within a request of their share', () => {
    const arrival = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      cost: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(arrival, { minLength: 1, maxLength: 60 }), (arrivals) => {
        const queue = new FairQueue();
        const served: (typeof arrivals)[number][] = [];
        for (const request of arrivals) {
          queue.enqueue(async () => {}, request);
        }
        const byRun = new Map(queue.filter().map((run, index) => [run, index]));
        const waiting = new Map<string, number>();
        for (const { client } of arrivals) waiting.set(client, (waiting.get(client) ?? 0) + 1);
        const work = new Map([...waiting.keys()].map((client) => [client, 0]));
        const order = groupByClient(arrivals);
        for (let run = queue.dequeue(); run; run = queue.dequeue()) {
          const request = order[byRun.get(run) ?? -1];
          if (!request) throw new Error('a request that was never there');
          served.push(request);
          work.set(request.client, (work.get(request.client) ?? 0) + request.cost);
          waiting.set(request.client, (waiting.get(request.client) ?? 0) - 1);
          // The bound of start-time fair queueing for two clients that both wait.
          const backlogged = [...work].filter(([client]) => (waiting.get(client) ?? 0) > 0);
          const shares = backlogged.map(([, tokens]) => tokens);
          const spread = shares.length > 1 ? Math.max(...shares) - Math.min(...shares) : 0;
          expect(spread).toBeLessThanOrEqual(40);
        }
        expect(served).toHaveLength(arrivals.length);
      }),
    );
  });
});

/** The order in which `filter` lists requests: client by client, in order of first arrival. */
function groupByClient<T extends { client: string }>(arrivals: readonly T[]): T[] {
  const clients = [...new Set(arrivals.map(({ client }) => client))];
  return clients.flatMap((client) => arrivals.filter((request) => request.client === client));
}
