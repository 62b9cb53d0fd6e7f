/** One process at a time for a folder. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';
import { UserError } from '../user-error.ts';

/** Another process is at work in a folder. */
export class FolderTakenError extends UserError {}

const EXCLUSIVE_NOW = 2 | 4;

/** Between two looks at whether a folder is free, in milliseconds. */
const LOOK_MS = 250;

/**
 * Takes a folder for this process. The system gives it back when the process ends, however it does.
 * Without flock (Windows) nothing is taken.
 * @returns gives it back
 * @throws {FolderTakenError} if another process has it
 * @throws {Error} where it can't be locked
 */
export function lockFolder(folder: string): () => void {
  const file = openSync(join(folder, 'lock'), 'a', 0o600);
  if (process.platform !== 'win32') {
    const flock = koffi.load(null).func('int flock(int fd, int operation)');
    if (flock(file, EXCLUSIVE_NOW) !== 0) {
      const isTaken = koffi.errno() === koffi.os.errno['EAGAIN'];
      closeSync(file);
      if (isTaken) throw new FolderTakenError(`another process uses ${folder}`);
      throw new Error(`${folder} cannot be locked: its file system does not do that`);
    }
  }
  return () => closeSync(file);
}

/**
 * Takes a folder once no other process has it: for work that is not to be done twice. Where it can't be
 * locked, it is not.
 * @returns gives it back
 */
export async function whenFree(folder: string): Promise<() => void> {
  for (;;) {
    try {
      return lockFolder(folder);
    } catch (error) {
      if (!(error instanceof FolderTakenError)) return () => {};
    }
    await sleep(LOOK_MS);
  }
}
