import { readFile } from 'node:fs/promises';

/** Of the clock that Linux counts a process's time by. */
const TICKS_PER_SECOND = 100;

/** Seconds that a process has computed so far, its threads included. Linux. */
export async function cpuSeconds(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
