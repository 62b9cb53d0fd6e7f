import { readFile } from 'node:fs/promises';
import { median } from './table.ts';

/** Ticks a second of the clock that Linux counts a process's time by. */
const TICKS_PER_SECOND = 100;

/** Seconds that a process has computed so far, its threads included. Linux. */
export async function cpuSeconds(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Milliseconds that this process has computed so far, its threads included. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * How runs that take turns are timed: the median of what a clock says, or the least CPU time, for machines
 * that others use.
 */
export function timing(byCpu: boolean) {
  return byCpu
    ? { clock: cpuMs, typical: (of: readonly number[]) => Math.min(...of) }
    : { clock: () => performance.now(), typical: median };
}
