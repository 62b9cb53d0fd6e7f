import { expect, test, vi } from 'vitest';
import { type Job, JobTurns, type Pause } from '../../../src/server/batches/job-turns.ts';

/** So many lines, which do what `run` does. */
class Lines implements Job {
  readonly ended: Promise<void>;
  numBegun = 0;
  numDone = 0;
  isSuspended = false;
  hasFailed = false;
  readonly #count: number;
  readonly #run: (pause: Pause) => Promise<void>;
  #tellEnd: () => void = () => {};

  constructor(count: number, run: (pause: Pause) => Promise<void>) {
    this.#count = count;
    this.#run = run;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
  }

  get hasMore(): boolean {
    return !this.isSuspended && this.numBegun < this.#count;
  }

  async open(): Promise<void> {}

  async fail(): Promise<void> {
    this.hasFailed = true;
  }

  async suspend(): Promise<void> {
    this.isSuspended = true;
  }

  async runNext(pause: Pause): Promise<void> {
    this.numBegun++;
    await this.#run(pause);
    if (++this.numDone === this.#count) this.#tellEnd();
  }
}

const NOTHING = { onEnd: () => {}, again: () => null };

const forever = () => new Promise<void>(() => {});

test('lines that wait hold up no other client, and are bounded', async () => {
  const turns = new JobTurns(3);
  const stuck = new Lines(1000, (pause) => pause(forever));
  turns.add({ client: 'a', job: stuck, ...NOTHING });
  await vi.waitFor(() => expect(stuck.numBegun).toBe(3));
  const quick = new Lines(100, async () => {});
  turns.add({ client: 'b', job: quick, ...NOTHING });
  await vi.waitFor(() => expect(quick.numDone).toBe(100));
  expect(stuck.numBegun).toBe(3);
});

test('lines that run are bounded over all clients, and what waited counts again', async () => {
  const turns = new JobTurns(3);
  let numRunning = 0;
  let most = 0;
  const run = async (pause: Pause) => {
    await pause(() => new Promise((resolve) => setTimeout(resolve, 1)));
    most = Math.max(most, ++numRunning);
    await new Promise((resolve) => setTimeout(resolve, 1));
    numRunning--;
  };
  const jobs = ['a', 'b'].map((client) => {
    const job = new Lines(30, run);
    turns.add({ client, job, ...NOTHING });
    return job;
  });
  await Promise.all(jobs.map(({ ended }) => ended));
  // Those of a client that come back at once are as many as one may have.
  expect(most).toBeLessThanOrEqual(6);
});

test('a ninth client has its turn, though the lines of eight others only wait', async () => {
  const turns = new JobTurns(3, 40);
  const stalled = Array.from({ length: 8 }, (_, index) => {
    const jobs: Lines[] = [];
    const again = () => {
      const job = new Lines(100, (pause) => pause(forever));
      jobs.push(job);
      return job;
    };
    turns.add({ client: `stalled-${index}`, job: again(), onEnd: () => {}, again });
    return jobs;
  });
  const quick = new Lines(100, async () => {});
  turns.add({ client: 'quick', job: quick, ...NOTHING });
  await vi.waitFor(() => expect(quick.numDone).toBe(100));
  // A job that gave up its turn gets another one.
  await vi.waitFor(() =>
    expect(stalled.every((jobs) => (jobs.at(-1)?.numBegun ?? 0) > 0)).toBe(true),
  );
  turns.close();
});

test('what runs keeps its turn, and so does what waits while nobody wants one', async () => {
  const turns = new JobTurns(100, 20);
  const add = (client: string, job: Lines) => {
    turns.add({ client, job, onEnd: () => {}, again: () => null });
    return job;
  };
  const waiting = add('waiting', new Lines(100, (pause) => pause(forever)));
  const busy = Array.from({ length: 7 }, (_, index) => add(`busy-${index}`, new Lines(2, forever)));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([waiting, ...busy].some(({ isSuspended }) => isSuspended)).toBe(false);
  const late = add('late', new Lines(1, forever));
  await vi.waitFor(() => expect(late.numBegun).toBe(1));
  expect([waiting.isSuspended, busy.some(({ isSuspended }) => isSuspended)]).toEqual([true, false]);
  turns.close();
});

test('a client that is dropped has no turn any more', async () => {
  const turns = new JobTurns(3);
  const jobs = [1, 2].map(() => new Lines(100, forever));
  for (const job of jobs) turns.add({ client: 'a', job, ...NOTHING });
  await vi.waitFor(() => expect(jobs[0]?.numBegun).toBe(3));
  await turns.drop('a');
  expect(jobs.map(({ isSuspended, numBegun }) => [isSuspended, numBegun])).toEqual([
    [true, 3],
    [false, 0],
  ]);
});

test('one that can not be begun fails, and gives its turn back', async () => {
  const turns = new JobTurns(3);
  const broken = new Lines(1, async () => {});
  broken.open = async () => {
    throw new Error('broken');
  };
  const onEnd = vi.fn<() => void>();
  turns.add({ client: 'a', job: broken, onEnd, again: () => null });
  const next = new Lines(1, async () => {});
  turns.add({ client: 'a', job: next, ...NOTHING });
  await vi.waitFor(() => expect(next.numDone).toBe(1));
  expect(broken.hasFailed).toBe(true);
  expect(onEnd).toHaveBeenCalledOnce();
});
