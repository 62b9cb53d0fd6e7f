import { setPriority } from 'node:os';

/** Steps by which Linux lets other processes go first: streams come before work on images. */
const NICENESS = 5;

/** Threads of a process are as nice as the one that starts them, so it is told before it has any. */
export function yieldCores(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, NICENESS);
  } catch {
    // It has ended already, or the system does not allow it: it is as good as others then.
  }
}
