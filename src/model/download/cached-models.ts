/** Models that were downloaded. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { writingToCache } from '../cache/cache-error.ts';
import { homeOf } from './pull-files.ts';
import type { Remote } from './remote.ts';

export interface Measured {
  /** Size of all states, interrupted downloads included. */
  readonly bytes: number;
  /** When something of it was last written. */
  readonly modifiedAt: Date;
}

export interface CachedModel extends Measured {
  /** Such as `Qwen/Qwen3-0.6B`. */
  readonly id: string;
}

/**
 * Models of one kind of place, in order of their ids.
 * @param kind folder of the cache that has a folder of each
 * @param idOf what a folder is called means; null where it is no model's
 */
export async function modelsBelow(
  cacheDirectory: string,
  kind: string,
  idOf: (folder: string) => string | null,
): Promise<CachedModel[]> {
  const names = await readdir(join(cacheDirectory, kind)).catch((): string[] => []);
  const models = names.flatMap((name) => {
    const id = idOf(name);
    return id === null ? [] : [{ id, folder: join(cacheDirectory, kind, name) }];
  });
  models.sort((a, b) => (a.id < b.id ? -1 : 1));
  return Promise.all(models.map(async ({ id, folder }) => ({ id, ...(await measure(folder)) })));
}

/** Removes a model, all its states. @throws {ModelError} when the cache can't be written to */
export async function removeCachedModel(remote: Remote, cacheDirectory: string): Promise<void> {
  await writingToCache(cacheDirectory, `the model ${remote.id}`, () =>
    rm(homeOf(remote, cacheDirectory), { recursive: true, force: true }),
  );
}

/** The files below a folder; what is gone meanwhile counts for nothing. */
export async function measure(folder: string): Promise<Measured> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  let modifiedMs = 0;
  for (const entry of entries) {
    const stats = await stat(join(entry.parentPath, entry.name)).catch(() => null);
    if (stats === null || !stats.isFile()) continue;
    bytes += stats.size;
    modifiedMs = Math.max(modifiedMs, stats.mtimeMs);
  }
  return { bytes, modifiedAt: new Date(modifiedMs) };
}
