import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';

/** Bytes that this process may still take, by the machine or by its container's limit. */
export function freeMemory(): number {
  // Zero or absurdly large without a limit.
  const limit = process.constrainedMemory();
  const left = limit > 0 ? limit - process.memoryUsage.rss() : Infinity;
  return Math.max(0, Math.min(left, availableMemory()));
}

/** Memory that can be had without swapping, file caches included. */
function availableMemory(): number {
  if (process.platform !== 'linux') return freemem();
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  return match ? Number(match[1]) * 1024 : freemem();
}
