/** Memory of processes, as Linux counts it; elsewhere nothing is known, and nothing is asserted. */
import { readFileSync } from 'node:fs';

/** Now, in MiB. NaN where that can't be told. */
export function residentMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmRSS');
}

/** At most since the process began, in MiB. */
export function peakMiB(pid: number | undefined): number {
  return statusMiB(pid, 'VmHWM');
}

function statusMiB(pid: number | undefined, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? NaN) / 1024;
  } catch {
    return NaN;
  }
}
