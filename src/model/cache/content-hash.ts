import { createHash, randomBytes, webcrypto } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { meaningOf } from '../../files/system-error.ts';
import { ModelError } from '../model-error.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { readRange } from '../file-range.ts';

/**
 * A file that changed less than this long ago (in milliseconds) may change again without its
 * times telling, since file systems round them.
 */
const SETTLED_AFTER = 2000;

/** Parts of a file that are hashed by themselves, and how many at once: as many as Node.js has threads for it. */
const PART_BYTES = 2 ** 20;
const PARTS_AT_ONCE = 4;

/**
 * Hash of a file's content, in hex: SHA-256 of the SHA-256 of its parts, which takes all cores. It is remembered
 * in `indexDirectory` under the file's path, size, inode and times, so that a big file that has not changed is
 * not read again.
 * @throws {ModelError} if the file cannot be read
 */
export async function contentHash(path: string, indexDirectory: string): Promise<string> {
  const file = resolve(path);
  const entryPath = join(indexDirectory, `${sha256(file)}.txt`);
  const before = await reading(file, fingerprint(file));
  const [knownState, knownHash] = (await readFile(entryPath, 'utf8').catch(() => '')).split('\n');
  if (knownState === before.state && knownHash !== undefined && /^[0-9a-f]{64}$/.test(knownHash)) {
    return knownHash;
  }
  const digest = await reading(file, hashOfParts(file));
  const after = await reading(file, fingerprint(file));
  if (before.state === after.state && Date.now() - after.changedAt > SETTLED_AFTER) {
    // A read-only cache only makes the next start slower.
    await remember(indexDirectory, entryPath, `${after.state}\n${digest}\n`).catch(() => {});
  }
  return digest;
}

async function hashOfParts(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const digests: Buffer[] = [];
    let next = 0;
    const hashParts = async (): Promise<void> => {
      const bytes = new Uint8Array(Math.min(PART_BYTES, size));
      while (next * PART_BYTES < size) {
        const index = next++;
        const start = index * PART_BYTES;
        const part = bytes.subarray(0, Math.min(PART_BYTES, size - start));
        await readRange(handle, start, part, file);
        digests[index] = Buffer.from(await webcrypto.subtle.digest('SHA-256', part));
      }
    };
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, hashParts));
    return createHash('sha256').update(Buffer.concat(digests)).digest('hex');
  } finally {
    await handle.close();
  }
}

/**
 * SHA-256 of a file's content, in hex; the file is read each time.
 * @throws {ModelError} if the file cannot be read
 */
export async function fileHash(file: string): Promise<string> {
  const hash = createHash('sha256');
  await reading(file, pipeline(createReadStream(file, { highWaterMark: 4 * 1024 * 1024 }), hash));
  return hash.digest('hex');
}

async function reading<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ModelError(`${file} cannot be read: ${meaningOf(error)}`, { cause: error });
  }
}

/** SHA-256 of a string, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function fingerprint(file: string): Promise<{ state: string; changedAt: number }> {
  const stats = await stat(file, { bigint: true });
  const { size, ino, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  // Reading a pipe could wait forever.
  if (!stats.isFile()) throw new Error('it is not a file');
  const changedAt = Math.max(Number(mtimeMs), Number(ctimeMs));
  return { state: [PART_BYTES, size, ino, mtimeNs, ctimeNs].join(' '), changedAt };
}

async function remember(directory: string, entryPath: string, entry: string): Promise<void> {
  await makeFolder(directory);
  const temporary = `${entryPath}.${randomBytes(6).toString('hex')}`;
  await writeFile(temporary, entry);
  await rename(temporary, entryPath);
}
