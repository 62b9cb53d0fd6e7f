import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { fileExists } from '../../files/file-exists.ts';
import { writingToCache } from '../cache/cache-error.ts';
import { contentHash, sha256 } from '../cache/content-hash.ts';
import { findDamage, writeContents } from './build-contents.ts';
import { createStagingDirectory, discard, publish, removeStaleStaging } from './staging.ts';

/**
 * Finds the folder in the cache that was built of the same facts, or builds it. Several processes may
 * do this at once.
 * @param builds name of the folder of all builds of that kind
 * @param facts all that the build depends on; becomes JSON
 * @param write fills an empty folder
 * @returns its path
 * @throws {ModelError} what `write` throws, or if the disk is full
 */
export async function cachedFolder(
  cacheDirectory: string,
  builds: string,
  facts: unknown,
  write: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheDirectory, builds);
  const path = join(folder, sha256(JSON.stringify(facts)));
  if (await isUsable(path)) return path;
  await writingToCache(cacheDirectory, 'the built model', async () => {
    await removeStaleStaging(folder);
    if (await fileExists(path)) await discard(path, isUsable);
    await buildInto(path, write);
  });
  return path;
}

async function buildInto(path: string, write: (folder: string) => Promise<void>): Promise<void> {
  const staging = await createStagingDirectory(path);
  try {
    await write(staging);
    await writeContents(staging, null);
    await publish(staging, path, isUsable);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

async function isUsable(path: string): Promise<boolean> {
  return (await fileExists(path)) && (await findDamage(path, null)) === null;
}

/** Hashes of files, which the cache remembers. */
export async function hashesOf(
  files: readonly string[],
  cacheDirectory: string,
): Promise<readonly string[]> {
  const index = join(cacheDirectory, 'content-hashes');
  const hashes: string[] = [];
  for (const file of files) hashes.push(await contentHash(file, index));
  return hashes;
}
