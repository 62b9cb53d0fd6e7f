import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { meaningOf } from '../../files/system-error.ts';
import { ModelError } from '../model-error.ts';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * A file that changed less than this long ago (in milliseconds) may change again without its
 * times telling, since file systems round them.
 */
const SETTLED_AFTER = 2000;

/**
 * SHA-256 of a file's content, in hex. The hash is remembered in `indexDirectory` under the file's
 * path, size, inode and times, so that a big file that has not changed is not read again.
 * @throws {ModelError} if the file cannot be read
 */
export async function contentHash(path: string, indexDirectory: string): Promise<string> {
  const file = resolve(path);
  const entryPath = join(indexDirectory, `${sha256(file)}.txt`);
  const before = await fingerprint(file);
  const [knownState, knownHash] = (await readFile(entryPath, 'utf8').catch(() => '')).split('\n');
  if (knownState === before.state && knownHash !== undefined && /^[0-9a-f]{64}$/.test(knownHash)) {
    return knownHash;
  }
  const digest = await fileHash(file);
  const after = await fingerprint(file);
  if (before.state === after.state && Date.now() - after.changedAt > SETTLED_AFTER) {
    // A read-only cache only makes the next start slower.
    await remember(indexDirectory, entryPath, `${after.state}\n${digest}\n`).catch(() => {});
  }
  return digest;
}

/**
 * SHA-256 of a file's content, in hex; the file is read each time.
 * @throws {ModelError} if the file cannot be read
 */
export async function fileHash(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file, { highWaterMark: 4 * 1024 * 1024 }), hash);
  } catch (error) {
    throw new ModelError(`${file} cannot be read: ${meaningOf(error)}`, { cause: error });
  }
  return hash.digest('hex');
}

/** SHA-256 of a string, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function fingerprint(file: string): Promise<{ state: string; changedAt: number }> {
  try {
    const stats = await stat(file, { bigint: true });
    const { size, ino, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
    // Reading a pipe could wait forever.
    if (!stats.isFile()) throw new Error('it is not a file');
    const changedAt = Math.max(Number(mtimeMs), Number(ctimeMs));
    return { state: [size, ino, mtimeNs, ctimeNs].join(' '), changedAt };
  } catch (error) {
    throw new ModelError(`${file} cannot be read: ${meaningOf(error)}`, { cause: error });
  }
}

async function remember(directory: string, entryPath: string, entry: string): Promise<void> {
  await makeFolder(directory);
  const temporary = `${entryPath}.${randomBytes(6).toString('hex')}`;
  await writeFile(temporary, entry);
  await rename(temporary, entryPath);
}
