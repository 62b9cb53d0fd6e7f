import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { fileExists } from '../../files/file-exists.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { writingToCache } from './cache-error.ts';

/**
 * Puts a folder into the cache, whole or not at all.
 * @param folder inside of the cache
 * @param what is written, for errors
 * @param write into a folder that takes its place
 * @throws {ModelError} if the disk is full
 */
export async function keepFolder(
  cacheDirectory: string,
  folder: string,
  what: string,
  write: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = join(dirname(folder), `.${randomBytes(6).toString('hex')}`);
  await writingToCache(cacheDirectory, what, async () => {
    await makeFolder(unfinished);
    await write(unfinished);
    try {
      await rename(unfinished, folder);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another process may have been first.
      if (!(await fileExists(folder))) throw error;
    }
  });
}
