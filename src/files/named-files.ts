/** Files that a person named by a flag: errors say which flag, which file, and what is wrong. */
import { constants } from 'node:fs';
import { access, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { UserError } from '../user-error.ts';
import { isSystemError, meaningOf, type SystemError } from './system-error.ts';

/**
 * Reads a text.
 * @param flag such as `--slo`
 * @throws UserError
 */
export async function readNamed(flag: string, path: string): Promise<string> {
  return naming(flag, path, () => readFile(path, 'utf8'));
}

/**
 * Checks that a file can be written, before work is done whose result goes there. Leaves no trace.
 * @throws UserError
 */
export async function requireWritable(flag: string, path: string): Promise<void> {
  await naming(flag, path, async () => {
    const stats = await stat(path).catch(() => null);
    // Opening a pipe would wait for its reader.
    if (stats !== null && !stats.isFile() && !stats.isDirectory()) {
      await access(path, constants.W_OK);
      return;
    }
    const file = await open(path, 'a');
    await file.close();
    if (stats === null) await rm(path);
  });
}

/**
 * Makes a folder, if there is none, whose files are this user's alone.
 * @throws UserError when it can't be made, listed or written to
 */
export async function requireFolder(flag: string, path: string): Promise<void> {
  await naming(flag, path, async () => {
    await makeFolder(path, 0o700);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  });
}

/** @throws UserError */
export async function writeNamed(flag: string, path: string, text: string): Promise<void> {
  await naming(flag, path, () => writeFile(path, text));
}

/** Runs what reads or writes the file. @throws UserError in place of the system's errors */
export async function naming<R>(flag: string, path: string, action: () => Promise<R>): Promise<R> {
  try {
    return await action();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UserError(`${flag} ${path}: ${await explain(error, path)}`, { cause: error });
  }
}

async function explain(failure: SystemError, path: string): Promise<string> {
  const isMissing = failure.code === 'ENOENT' && failure.syscall === 'open';
  const folder = dirname(path);
  const hasFolder = !isMissing || (await stat(folder).catch(() => null)) !== null;
  return hasFolder ? meaningOf(failure) : `there is no folder ${folder}`;
}
