import { webcrypto } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle, open, rename, rm } from 'node:fs/promises';
import type { BlockKey } from './block-names.ts';

/** Raised whenever the header or the order of a block's bytes changes. */
const LAYOUT_VERSION = 1;
/** Text in JSON, filled up with spaces: the bytes begin at a page. */
export const HEADER_BYTES = 4096;

/** Calls that files are read and written with; tests have them fail. */
export interface FileCalls {
  readonly open: typeof open;
  readonly rename: typeof rename;
  readonly rm: typeof rm;
}

/**
 * Says what computed a block's bytes and how they lie: with the same, a file has the same bytes.
 * It is told in each file's header, and is part of blocks' names.
 */
export type BlockOrigin = Readonly<Record<string, string | number>>;

/** The header that a file must have, byte by byte, for its bytes to be those of the block. */
async function headerOf(
  origin: BlockOrigin,
  { name, tokenIds }: BlockKey,
  bytes: Uint8Array,
): Promise<Buffer> {
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex');
  const facts = { format: 'chairlift-kv', layout: LAYOUT_VERSION, ...origin, name };
  const text = JSON.stringify({ ...facts, tokens: [...tokenIds], bytes: bytes.length, digest });
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  if (header.write(text) < Buffer.byteLength(text)) throw new Error('the header is too long');
  return header;
}

/**
 * Writes a block's file: under another name first, which it has until all of it is on the disk.
 * @throws Error of the system; what was written is removed
 */
export async function writeBlockFile(
  files: FileCalls,
  path: string,
  unfinished: string,
  [origin, key, bytes]: readonly [BlockOrigin, BlockKey, Uint8Array],
): Promise<void> {
  const header = await headerOf(origin, key, bytes);
  // Others have no business with what clients asked.
  const file = await files.open(unfinished, 'wx', 0o600);
  try {
    try {
      await file.writeFile(header);
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(unfinished, path);
  } catch (error) {
    await files.rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
}

/**
 * Reads a block's file.
 * @returns its bytes; null if it is damaged, or not this block's
 * @throws Error of the system when it is not there or can't be read
 */
export async function readBlockFile(
  files: FileCalls,
  path: string,
  origin: BlockOrigin,
  key: BlockKey,
  blockBytes: number,
): Promise<Uint8Array | null> {
  // A pipe would wait for its writer, a link leads elsewhere.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await files.open(path, flags);
  try {
    const stats = await file.stat();
    const wanted = HEADER_BYTES + blockBytes;
    if (!stats.isFile() || stats.size !== wanted) return null;
    const content = await readWhole(file, wanted);
    if (content === null) return null;
    const bytes = content.subarray(HEADER_BYTES);
    const header = await headerOf(origin, key, bytes);
    return header.equals(content.subarray(0, HEADER_BYTES)) ? bytes : null;
  } finally {
    await file.close();
  }
}

/** @returns null if the file became shorter */
async function readWhole(file: FileHandle, length: number): Promise<Buffer | null> {
  const content = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(content, done, length - done, done);
    if (bytesRead === 0) return null;
    done += bytesRead;
  }
  return content;
}
