import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'sys/kernel/mm/transparent_hugepage';
/** Larger ones, which some ARM kernels have, would each hold a step up for long. */
const MOST_BYTES = 32 * 2 ** 20;

/**
 * Size of the huge pages that this process may ask for, in bytes; null where there are none, or the system's owner
 * wants none. Only Linux has them.
 * @param root of the file system; for tests
 */
export function hugePageBytes(root = '/'): number | null {
  try {
    const enabled = readFileSync(join(root, FOLDER, 'enabled'), 'utf8');
    const bytes = Number(readFileSync(join(root, FOLDER, 'hpage_pmd_size'), 'utf8'));
    if (enabled.includes('[never]') || !(bytes > 0 && bytes <= MOST_BYTES)) return null;
    return bytes;
  } catch {
    return null;
  }
}
