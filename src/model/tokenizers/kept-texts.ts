import { rename, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { writingToCache } from '../cache/cache-error.ts';
import { fileExists } from '../../files/file-exists.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** Where a model's tokenizer and chat template are kept that were made of other files. */
export interface KeptTexts {
  readonly cacheDirectory: string;
  /** Of models of that kind. */
  readonly kind: string;
  /** Of these files, and of the version of what is made of them. */
  readonly name: string;
}

/**
 * Finds a folder of the cache, or writes it.
 * @param make contents by file name: texts, or what becomes JSON
 * @returns the folder
 * @throws {ModelError} if the disk is full
 */
export async function keptTexts(
  { cacheDirectory, kind, name }: KeptTexts,
  make: () => Readonly<Record<string, unknown>>,
): Promise<string> {
  const folders = join(cacheDirectory, kind);
  const folder = join(folders, name);
  if (await fileExists(folder)) return folder;
  const files = make();
  const unfinished = join(folders, `.${randomBytes(6).toString('hex')}`);
  await writingToCache(cacheDirectory, 'the tokenizer', async () => {
    await makeFolder(unfinished);
    for (const [file, content] of Object.entries(files)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await writeFile(join(unfinished, file), text);
    }
    try {
      await rename(unfinished, folder);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another process may have been first.
      if (!(await fileExists(folder))) throw error;
    }
  });
  return folder;
}
