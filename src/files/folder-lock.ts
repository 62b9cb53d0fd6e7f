/** One process at a time for a folder. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';

/** Another process is at work in a folder. */
export class FolderTakenError extends Error {
  override readonly name = 'FolderTakenError';
}

const EXCLUSIVE_NOW = 2 | 4;

/**
 * Takes a folder for this process. The system gives it back when the process ends, however it does.
 * Without flock (Windows) nothing is taken.
 * @returns gives it back
 * @throws {FolderTakenError} if another process has it
 */
export function lockFolder(folder: string): () => void {
  const file = openSync(join(folder, 'lock'), 'a', 0o600);
  if (process.platform !== 'win32') {
    const flock = koffi.load(null).func('int flock(int fd, int operation)');
    if (flock(file, EXCLUSIVE_NOW) !== 0) {
      closeSync(file);
      throw new FolderTakenError(`another process uses ${folder}`);
    }
  }
  return () => closeSync(file);
}
