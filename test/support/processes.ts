import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ids of a process's children. Linux and macOS. */
export function childrenOf(pid: number | undefined): number[] {
  // Starting `ps` takes a busy machine longer than what tests kill takes to start.
  const known = process.platform === 'linux' ? childrenByProc(pid) : null;
  if (known !== null) return known;
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child = 0]) => child);
}

/** In order of their start; null where the kernel does not say. */
function childrenByProc(pid: number | undefined): number[] | null {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const lists = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  } catch {
    return null;
  }
}

/** For what hangs: how long something takes says little on a machine with other work. */
const PATIENCE_MS = 60_000;

/** Tries until it holds, or throws after `timeoutMs`. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen in ${timeoutMs} ms`);
    await sleep(25);
  }
}

/**
 * Kills a process as a crash would.
 * @returns false if it has ended already
 */
export function killNow(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}
