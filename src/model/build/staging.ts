import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { isAlive } from '../../threads/is-alive.ts';
import { sha256 } from '../cache/content-hash.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** `<final name>.building-<host>-<process id>-<random>`. */
const STAGING_NAME = /\.building-(?<host>[0-9a-f]{8})-(?<pid>\d+)-[0-9a-f]+$/;

/** A builder on another host cannot be asked whether it lives; after a day it surely does not. */
const FOREIGN_BUILDER_LIFETIME = 24 * 60 * 60 * 1000;

function hostId(): string {
  return sha256(hostname()).slice(0, 8);
}

/**
 * Makes an empty directory next to `finalPath`, to build in before the result is published there.
 */
export async function createStagingDirectory(finalPath: string): Promise<string> {
  const owner = `${hostId()}-${process.pid}-${randomBytes(6).toString('hex')}`;
  const path = `${finalPath}.building-${owner}`;
  await makeFolder(dirname(path));
  await mkdir(path);
  return path;
}

/** How often builders that find the same damage may undo each other's work. */
const MAX_TRIES = 5;

/**
 * Moves a finished staging directory to `finalPath` in one step. If another builder was first and
 * `isUsable(finalPath)` says so, that one stays and ours is dropped.
 */
export async function publish(
  staging: string,
  finalPath: string,
  isUsable: (path: string) => Promise<boolean>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await rename(staging, finalPath);
      return;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
    if (await isUsable(finalPath)) break;
    await discard(finalPath, isUsable);
  }
  await rm(staging, { recursive: true, force: true });
}

/**
 * Removes a damaged folder. If another builder has replaced it with a good one meanwhile, that one
 * is put back.
 */
export async function discard(
  path: string,
  isUsable: (path: string) => Promise<boolean>,
): Promise<void> {
  const staging = await createStagingDirectory(path);
  const aside = join(staging, basename(path));
  try {
    await rename(path, aside);
    if (await isUsable(aside)) await rename(aside, path);
  } catch (error) {
    // Already gone, or replaced again.
    if (!isOneOf(error, ['ENOENT', 'ENOTEMPTY', 'EEXIST'])) throw error;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function isOneOf(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Removes what crashed builders left in `parent`. */
export async function removeStaleStaging(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const owner = STAGING_NAME.exec(name)?.groups;
    if (owner === undefined) {
      continue;
    }
    const path = join(parent, name);
    if (await isAbandoned(path, owner['host'], Number(owner['pid']))) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

async function isAbandoned(path: string, host: string | undefined, pid: number): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) {
    return false;
  }
  if (host !== hostId()) {
    return Date.now() - stats.mtimeMs > FOREIGN_BUILDER_LIFETIME;
  }
  if (pid === process.pid) {
    // Made by an earlier process of the same id, as is usual when a container restarts.
    return stats.mtimeMs < Date.now() - process.uptime() * 1000;
  }
  return !isAlive(pid);
}
