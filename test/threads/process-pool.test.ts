import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../src/threads/is-alive.ts';
import { ProcessMemoryError, ProcessPool } from '../../src/threads/process-pool.ts';
import { until } from '../support/processes.ts';
import type { Told } from './support/task-process.ts';

const ENTRY = new URL('./support/task-process.ts', import.meta.url);
const NEVER = { signal: new AbortController().signal };

function openPool(more: { readonly idleMs?: number; readonly maxMb?: number } = {}) {
  const { idleMs = 60_000, maxMb = 1024 } = more;
  const pool = new ProcessPool<Told, number>({ entry: ENTRY, idleMs, maxMb });
  onTestFinished(() => pool.destroy());
  return pool;
}

test('one after the other have one process, and those at once one each', async () => {
  const pool = openPool();
  const first = await pool.run({ do: 'answer' }, NEVER);
  expect(await pool.run({ do: 'answer' }, NEVER)).toBe(first);
  const together = await Promise.all([1, 2].map(() => pool.run({ do: 'answer' }, NEVER)));
  expect(new Set(together).size).toBe(2);
  expect(together).toContain(first);
});

test('a task fails alone, with its process if that crashes', async () => {
  const pool = openPool();
  const pid = await pool.run({ do: 'answer' }, NEVER);
  await expect(pool.run({ do: 'throw' }, NEVER)).rejects.toThrow('no such number');
  expect(await pool.run({ do: 'answer' }, NEVER)).toBe(pid);
  await expect(pool.run({ do: 'crash' }, NEVER)).rejects.toThrow('signal SIGSEGV');
  expect(await pool.run({ do: 'answer' }, NEVER)).not.toBe(pid);
});

test('a task whose process is killed runs once more, and its pieces come again', async () => {
  const pool = openPool();
  let told: unknown[] = [];
  let numRestarts = 0;
  const onPiece = (piece: unknown): void => {
    told.push(piece);
    // Long enough to be killed.
    if (numRestarts === 0) process.kill(Number(piece), 'SIGKILL');
  };
  const onRestart = (): void => {
    told = [];
    numRestarts++;
  };
  const task = { do: 'tell and wait', waitMs: 500 } as const;
  const pid = await pool.run(task, { ...NEVER, onPiece, onRestart });
  expect(told).toEqual([pid]);
  expect(numRestarts).toBe(1);
});

test('an aborted task ends with its process, which is gone by then', async () => {
  const pool = openPool();
  const pid = await pool.run({ do: 'answer' }, NEVER);
  const leaving = new AbortController();
  const endless = pool.run({ do: 'compute forever' }, leaving);
  leaving.abort(new Error('the client left'));
  await expect(endless).rejects.toThrow('the client left');
  expect(isAlive(pid)).toBe(false);
});

test.runIf(process.platform === 'linux')('one that takes too much memory is ended', async () => {
  const pool = openPool({ maxMb: 400 });
  const greedy = pool.run({ do: 'take memory' }, NEVER);
  await expect(greedy).rejects.toBeInstanceOf(ProcessMemoryError);
});

test('one without a task is ended after a while, and all with the pool', async () => {
  const pool = openPool({ idleMs: 0 });
  const pid = await pool.run({ do: 'answer' }, NEVER);
  await until(() => !isAlive(pid), 'the end of the idle process');
  const endless = pool.run({ do: 'compute forever' }, NEVER);
  const [ended] = await Promise.allSettled([endless, pool.destroy()]);
  expect(ended).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('its process ended') as string },
  });
});
