import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { eachOf } from './each-of.ts';

/** Files of ours: a folder that has others as well loses none of them. */
const BLOCK = /^[0-9a-f]{64}\.kv$/;
const UNFINISHED = /^[0-9a-f]{64}\.[0-9-]+\.tmp$/;
/** A write takes no longer: what is older was left by a process that died. */
const LONGEST_WRITE_MS = 5 * 60_000;
/** A sweep that finds too much makes this much room, so that the next one is not due at once. */
const FULL_SHARE = 0.9;

export interface FolderOptions {
  readonly path: string;
  /** Bytes of all files, those of other models and servers included. */
  readonly maxBytes: number;
  /** Files unused for longer are removed. */
  readonly maxAgeMs: number;
}

interface Found {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * Removes files that were unused for too long, those of writes that never ended, and the ones unused for
 * longest until the rest is within the bound. Makes the folder if there is none.
 * @returns what is left
 * @throws Error of the system when the folder can't be made or listed
 */
export async function sweepFolder({
  path,
  maxBytes,
  maxAgeMs,
}: FolderOptions): Promise<{ readonly bytes: number; readonly size: number }> {
  await makeFolder(path, 0o700);
  const blocks: Found[] = [];
  const removed: Found[] = [];
  const now = Date.now();
  const names = await readdir(path);
  await eachOf(names, async (name) => {
    const isBlock = BLOCK.test(name);
    if (!isBlock && !UNFINISHED.test(name)) return;
    const file = join(path, name);
    const stats = await lstat(file).catch(() => null);
    if (!stats?.isFile()) return;
    const { size, mtimeMs } = stats;
    const isOld = mtimeMs < now - (isBlock ? maxAgeMs : LONGEST_WRITE_MS);
    if (isOld) removed.push({ path: file, size, mtimeMs });
    else if (isBlock) blocks.push({ path: file, size, mtimeMs });
  });
  let bytes = blocks.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) {
    blocks.sort((a, b) => b.mtimeMs - a.mtimeMs);
    while (bytes > maxBytes * FULL_SHARE) {
      const oldest = blocks.pop();
      if (oldest === undefined) break;
      bytes -= oldest.size;
      removed.push(oldest);
    }
  }
  // Another server may have been quicker.
  await eachOf(removed, (file) => rm(file.path, { force: true }).catch(() => {}));
  return { bytes, size: blocks.length };
}
