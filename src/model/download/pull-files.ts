/** Downloads of a model that lies elsewhere, each state of it in a folder of its own. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { writingToCache } from '../cache/cache-error.ts';
import { ModelError } from '../model-error.ts';
import type { Remote, RemoteFile, RemoteListing } from './remote.ts';
import type { RemoteFileOptions } from './remote-file.ts';
import { downloadFiles } from './snapshot.ts';
import { reasonOf } from '../../files/system-error.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** A commit's name: becomes a folder's name. */
const COMMIT = /^[0-9a-f]{40}$/;

export interface PullFilesOptions extends Pick<RemoteFileOptions, 'retryMs'> {
  readonly cacheDirectory: string;
  /** Called with bytes, those that were there before included. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Called once if nobody can be reached and an earlier download is taken. */
  readonly onOffline?: (reason: string) => void;
}

/** Files of a folder of the cache. */
export interface PulledFiles {
  readonly folder: string;
  /** Paths relative to it, with slashes; of all its files those that were not downloaded, too. */
  readonly names: readonly string[];
}

/** Files of a download, and a function that fetches them. */
export interface Download {
  readonly files: readonly RemoteFile[];
  /** Where they go. */
  readonly folder: string;
  /** Downloads some that are not there yet; may be called again. */
  readonly fetchAll: (wanted: readonly RemoteFile[]) => Promise<void>;
}

/**
 * Downloads what `download` takes of a model, or finds it downloaded at the same commit.
 * @throws {ModelError} when that is not possible, saying why
 */
export async function pullFiles(
  remote: Remote,
  { cacheDirectory, onProgress = () => {}, onOffline = () => {}, retryMs }: PullFilesOptions,
  download: (download: Download) => Promise<void>,
): Promise<PulledFiles> {
  const { id, endpoint } = remote;
  const home = homeOf(remote, cacheDirectory);
  const pointer = pointerOf(remote, home);
  if (remote.isOffline) {
    const cached = await cachedFiles(remote, cacheDirectory);
    if (cached !== null) return cached;
    throw new ModelError(`${id} is not on this machine, and --offline asks no hub`);
  }
  let listing: RemoteListing;
  try {
    listing = await remote.list();
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const reason = `${endpoint} cannot be reached`;
    const cached = await cachedFiles(remote, cacheDirectory);
    if (cached === null) {
      const why = reasonOf(error);
      throw new ModelError(
        `${reason} for ${id}: ${why} (${remote.addressFrom} sets another address)`,
        {
          cause: error,
        },
      );
    }
    onOffline(reason);
    return cached;
  }
  const { commit, files } = listing;
  const folder = join(home, commit);
  let total = 0;
  let done = 0;
  const fetchAll = async (wanted: readonly RemoteFile[]): Promise<void> => {
    total += totalBytes(wanted);
    await downloadFiles({ remote, commit, folder }, wanted, {
      ...(retryMs !== undefined && { retryMs }),
      onProgress: (bytes) => onProgress(done + bytes, total),
    });
    done = total;
  };
  await writingToCache(cacheDirectory, `the model ${id}`, async () => {
    await makeFolder(folder);
    await download({ files, folder, fetchAll });
    // A cache that has it all may be read only.
    if ((await readPointer(pointer)) === commit) return;
    await makeFolder(dirname(pointer));
    await writeFile(pointer, commit);
  });
  return { folder, names: namesOf(files) };
}

/** Finds the files downloaded of a model; null if none were. */
export async function cachedFiles(
  remote: Remote,
  cacheDirectory: string,
): Promise<PulledFiles | null> {
  const home = homeOf(remote, cacheDirectory);
  const commit = await readPointer(pointerOf(remote, home));
  if (commit === null) return null;
  const folder = join(home, commit);
  const names = await readdir(folder, { recursive: true });
  return { folder, names: names.map((name) => name.replaceAll(sep, '/')) };
}

/** Where all commits of a model are kept. */
export function homeOf({ home }: Pick<Remote, 'home'>, cacheDirectory: string): string {
  return join(cacheDirectory, ...home);
}

/** @throws {ModelError} for a file with more bytes */
export function requireAtMost(files: readonly RemoteFile[], id: string, maxBytes: number): void {
  const tooLong = files.find(({ size }) => size > maxBytes);
  if (tooLong === undefined) return;
  const { name, size } = tooLong;
  throw new ModelError(`${name} of ${id} has ${size} bytes, more than ${maxBytes}`);
}

/** @throws {ModelError} for a JSON file or a template that is too long to be read */
export function requireReadable(files: readonly RemoteFile[], id: string): void {
  requireAtMost(files, id, MODEL_LIMITS.textFileBytes);
}

export function namesOf(files: readonly RemoteFile[]): string[] {
  return files.map(({ name }) => name);
}

export function filesNamed(names: readonly string[], files: readonly RemoteFile[]): RemoteFile[] {
  return files.filter(({ name }) => names.includes(name));
}

export function totalBytes(files: readonly RemoteFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function pointerOf({ id, revision }: Remote, home: string): string {
  return joinUntrusted(join(home, 'revisions'), encodeURIComponent(revision), id);
}

/** Which commit a revision was when it was downloaded; null if it was not. */
async function readPointer(path: string): Promise<string | null> {
  const commit = await readFile(path, 'utf8').catch(() => '');
  return COMMIT.test(commit) ? commit : null;
}
