/** Models that were downloaded from the hub. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { writingToCache } from '../cache/cache-error.ts';
import { hubHome } from './hub-pull.ts';

export interface CachedModel {
  /** Such as `Qwen/Qwen3-0.6B`. */
  readonly id: string;
  /** Size of all commits, interrupted downloads included. */
  readonly bytes: number;
  /** When something of it was last written. */
  readonly modifiedAt: Date;
}

/** In order of their ids. */
export async function cachedModels(cacheDirectory: string): Promise<CachedModel[]> {
  const names = await readdir(join(cacheDirectory, 'hub')).catch((): string[] => []);
  const ids = names.filter((name) => name.includes('--')).map((name) => name.replace('--', '/'));
  return Promise.all(
    ids.toSorted().map(async (id) => ({ id, ...(await measure(hubHome(id, cacheDirectory))) })),
  );
}

/** Removes a model, all its commits. @throws {ModelError} when the cache can't be written to */
export async function removeCachedModel(id: string, cacheDirectory: string): Promise<void> {
  await writingToCache(cacheDirectory, `the model ${id}`, () =>
    rm(hubHome(id, cacheDirectory), { recursive: true, force: true }),
  );
}

/** The files below a folder; what is gone meanwhile counts for nothing. */
export async function measure(folder: string): Promise<{ bytes: number; modifiedAt: Date }> {
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
