import { readFileSync } from 'node:fs';

/**
 * Bytes of a file that a process has mapped (Linux).
 * @param pid its number, or self
 */
export function mappedBytes(pid: number | 'self' | undefined, path: string): number {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  const sizes = lines.filter((line) => line.endsWith(path)).map(sizeOf);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function sizeOf(line: string): number {
  const [start = '0', end = '0'] = line.split(/[- ]/);
  return Number(BigInt(`0x${end}`) - BigInt(`0x${start}`));
}
