import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import { whenFree } from '../../files/folder-lock.ts';
import { joinUntrusted } from '../../files/untrusted-path.ts';
import { ModelError } from '../model-error.ts';
import { downloadHubFile, type HubFileOptions, partialOf } from './hub-file.ts';
import type { HubFile } from './hub-repository.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** A model at one commit, and the folder for its files. */
export interface Snapshot {
  /** Such as `Qwen/Qwen3-0.6B`. */
  readonly id: string;
  readonly commit: string;
  readonly folder: string;
}

/** A file of the hub's, and what it is called here. */
interface Target {
  readonly file: HubFile;
  readonly path: string;
}

/**
 * Downloads files that are not there yet, below the snapshot's folder and nowhere else.
 * @param onProgress called with the bytes of those that are there
 * @throws {UntrustedPathError} when one has a path outside the folder: before any is written
 * @throws {ModelError} when the disk has not room for them, or as downloadHubFile
 */
export async function downloadFiles(
  { id, commit, folder }: Snapshot,
  files: readonly HubFile[],
  options: HubFileOptions,
): Promise<void> {
  const targets = files.map((file) => ({ file, path: joinUntrusted(folder, file.name, id) }));
  // Replicas that share a cache start together; one that has it all may be read only.
  const release = (await areThere(targets)) ? () => {} : await whenFree(dirname(folder));
  try {
    await downloadMissing({ id, commit, folder }, targets, options);
  } finally {
    release();
  }
}

async function areThere(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.map(({ path }) => sizeOf(path)));
  return targets.every(({ file }, index) => sizes[index] === file.size);
}

async function downloadMissing(
  { id, commit, folder }: Snapshot,
  targets: readonly Target[],
  options: HubFileOptions,
): Promise<void> {
  await requireSpace(folder, targets, id);
  let done = 0;
  for (const { file, path } of targets) {
    const name = file.name.split('/').map(encodeURIComponent).join('/');
    await makeFolder(dirname(path));
    await downloadHubFile(file, `/${id}/resolve/${commit}/${name}`, path, {
      ...options,
      onProgress: (bytes) => options.onProgress?.(done + bytes),
    });
    done += file.size;
  }
}

/** Fails before the disk is full with a download that can't be finished. */
async function requireSpace(folder: string, targets: readonly Target[], id: string): Promise<void> {
  let missing = 0;
  for (const { file, path } of targets) {
    const have = (await sizeOf(path)) || (await sizeOf(partialOf(path)));
    missing += Math.max(0, file.size - have);
  }
  const { blocks, bavail, bsize } = await statfs(folder);
  // Some file systems do not report it.
  if (blocks === 0 || missing <= bavail * bsize) return;
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  throw new ModelError(
    `${id} needs ${gib(missing)} more, and ${folder} has room for ${gib(bavail * bsize)} ` +
      '(set CHAIRLIFT_CACHE to a folder on another disk)',
  );
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}
