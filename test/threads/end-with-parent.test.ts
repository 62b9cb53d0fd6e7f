import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isAlive } from '../../src/threads/is-alive.ts';
import { killNow, until } from '../support/processes.ts';

/** A process, and the id of its child that computes forever. */
async function startParent(way: string): Promise<{ parent: ChildProcess; child: number }> {
  const parent = spawn(
    process.execPath,
    ['--import', 'tsx', 'test/support/parent-of-busy.ts', way],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  return { parent, child: Number(line.toString()) };
}

it.each(['forkModule', 'a thread that watches'])(
  'a child that computes forever ends with its parent, killed: by %s',
  async (way) => {
    const { parent, child } = await startParent(way);
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGKILL');
    try {
      await until(() => !isAlive(child), 'the end of the child');
    } finally {
      killNow(child);
    }
  },
);
