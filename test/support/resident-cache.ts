import { readFileSync } from 'node:fs';

/**
 * Resident bytes, as the kernel (Linux) counts them, of the mappings that were told to have no huge pages and no
 * swap set aside: KV caches and logits buffers. Stacks of threads, which come and go, have no huge pages either.
 */
export function residentCacheBytes(): number {
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return mappings
    .filter((mapping) => /^VmFlags:(?=.*\bnr\b).*\bnh\b/m.test(mapping))
    .reduce((sum, mapping) => sum + Number(/^Rss:\s+(\d+)/m.exec(mapping)?.[1] ?? 0) * 1024, 0);
}
