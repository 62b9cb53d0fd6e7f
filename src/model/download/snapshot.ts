import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import { whenFree } from '../../files/folder-lock.ts';
import { joinUntrusted } from '../../files/untrusted-path.ts';
import { ModelError } from '../model-error.ts';
import type { Remote, RemoteFile } from './remote.ts';
import { downloadRemoteFile, partialOf, type RemoteFileOptions } from './remote-file.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** A model at one commit, and the folder for its files. */
export interface Snapshot {
  readonly remote: Remote;
  readonly commit: string;
  readonly folder: string;
}

/** A file that lies elsewhere, and what it is called here. */
interface Target {
  readonly file: RemoteFile;
  readonly path: string;
}

/**
 * Downloads files that are not there yet, below the snapshot's folder and nowhere else.
 * @param onProgress called with the bytes of those that are there
 * @throws {UntrustedPathError} when one has a path outside the folder: before any is written
 * @throws {ModelError} when the disk has not room for them, or as downloadRemoteFile
 */
export async function downloadFiles(
  { remote, commit, folder }: Snapshot,
  files: readonly RemoteFile[],
  options: RemoteFileOptions,
): Promise<void> {
  const targets = files.map((file) => ({
    file,
    path: joinUntrusted(folder, file.name, remote.id),
  }));
  // Replicas that share a cache start together; one that has it all may be read only.
  const release = (await areThere(targets)) ? () => {} : await whenFree(dirname(folder));
  try {
    await downloadMissing({ remote, commit, folder }, targets, options);
  } finally {
    release();
  }
}

async function areThere(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.map(({ path }) => sizeOf(path)));
  return targets.every(({ file }, index) => sizes[index] === file.size);
}

async function downloadMissing(
  { remote, commit, folder }: Snapshot,
  targets: readonly Target[],
  options: RemoteFileOptions,
): Promise<void> {
  await requireSpace(folder, targets, remote.id);
  let done = 0;
  for (const { file, path } of targets) {
    await makeFolder(dirname(path));
    await downloadRemoteFile(remote, file, commit, path, {
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
