/** Errors of the operating system, in words. */

/** By code, as what is wrong with a file or a folder. */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EBUSY: 'it is in use',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it exists already',
  EFBIG: 'it would be too large for the file system',
  EIO: 'the disk or its connection failed',
  EISDIR: 'it is a folder, not a file',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'this process has too many files open (see ulimit -n)',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'this system has too many files open',
  ENODEV: 'there is no such device',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file, not a folder',
  ENOTEMPTY: 'the folder is not empty',
  ENXIO: 'there is no such device',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ERR_FS_EISDIR: 'it is a folder, not a file',
  ETXTBSY: 'it is a program that runs',
};

/** The same, where a folder is to be made. */
const FOLDER_MEANINGS: Readonly<Record<string, string>> = {
  EEXIST: 'a file is in the way of the folder',
  ENOENT: 'no folder can be made there',
  ENOTDIR: 'a file is in the way of the folder',
};

/** Verbs for the failed action, by system call. */
const ACTIONS: Readonly<Record<string, string>> = {
  access: 'use',
  ftruncate: 'write',
  fsync: 'write',
  lstat: 'find',
  mkdir: 'make the folder',
  open: 'open',
  read: 'read',
  rename: 'move',
  rm: 'remove',
  rmdir: 'remove the folder',
  scandir: 'list the folder',
  stat: 'find',
  unlink: 'remove',
  write: 'write',
};

/** As Node.js throws it where the system refuses a call. */
export interface SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path?: string;
}

export function isSystemError(error: unknown): error is SystemError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    'syscall' in error &&
    typeof error.syscall === 'string'
  );
}

/** Whether it is about a file or a folder, and not, say, a connection. */
export function isFileError(error: unknown): error is SystemError {
  return isSystemError(error) && error.code in MEANINGS && error.syscall !== 'connect';
}

/** Why something failed: an error's message, or in words what the system refused, and for which file. */
export function reasonOf(error: unknown): string {
  if (!isSystemError(error)) return messageOf(error);
  const action = ACTIONS[error.syscall];
  const { path } = error;
  if (action === undefined) return error.message;
  return `cannot ${action}${path === undefined ? '' : ` ${path}`}: ${meaningOf(error)}`;
}

/** The same for a text that names the file already. */
export function meaningOf(error: unknown): string {
  if (!isSystemError(error)) return messageOf(error);
  const { code, syscall, message } = error;
  return (syscall === 'mkdir' ? FOLDER_MEANINGS[code] : undefined) ?? MEANINGS[code] ?? message;
}

/** Parsers quote half a character, if that is where they stopped: no answer and no file could hold it. */
function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).toWellFormed();
}
