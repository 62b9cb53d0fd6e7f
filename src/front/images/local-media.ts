/** Files of images on this machine (--allowed-local-media-path). */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Opening a pipe would wait for its writer, and the end of the path is no link by now. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

export class LocalMedia {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * A plain file below the folder, wherever links lead.
   * @returns null for any other: who asks learns nothing of what is there
   */
  async read(url: URL, maxBytes: number): Promise<Buffer | null> {
    try {
      const [folder, path] = await Promise.all([
        realpath(this.#folder),
        realpath(fileURLToPath(url)),
      ]);
      if (!isBelow(folder, path)) return null;
      const file = await open(path, FLAGS);
      try {
        return await readPlain(file, maxBytes);
      } finally {
        await file.close();
      }
    } catch {
      return null;
    }
  }
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function readPlain(file: FileHandle, maxBytes: number): Promise<Buffer | null> {
  const stats = await file.stat();
  if (!stats.isFile() || stats.size > maxBytes) return null;
  const bytes = Buffer.alloc(stats.size);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return bytes.subarray(0, bytesRead);
}
