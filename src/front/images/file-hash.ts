import type { Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Bytes that are hashed at once; other work goes on in between. */
const BYTES_AT_ONCE = 2 ** 20;

/** Adds a file to a hash. */
export async function addInTurns(hash: Hash, file: Uint8Array): Promise<void> {
  for (let start = 0; start < file.length; start += BYTES_AT_ONCE) {
    if (start > 0) await setImmediate();
    hash.update(file.subarray(start, start + BYTES_AT_ONCE));
  }
}
