import type { FileHandle } from 'node:fs/promises';

import { ModelError } from '../model-error.ts';

/**
 * Fills `target` with the bytes of an open file from `offset` on.
 * @param what what is being read, for the error
 * @throws {ModelError} if the file ends before
 */
export async function readRange(
  file: FileHandle,
  offset: number,
  target: Uint8Array,
  what: string,
): Promise<void> {
  for (let done = 0; done < target.byteLength;) {
    const { bytesRead } = await file.read(target, done, target.byteLength - done, offset + done);
    if (bytesRead === 0) {
      throw new ModelError(`${what}: the file ended while it was read`);
    }
    done += bytesRead;
  }
}
