import { ModelError } from '../model-error.ts';

/** The system's error codes, and what they mean for a folder that is written to. */
const REASONS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  ENOTDIR: 'a file is where a folder is to be',
  EEXIST: 'a file is where a folder is to be',
  EISDIR: 'a folder is where a file is to be',
  ERR_FS_EISDIR: 'a folder is where a file is to be',
  ENOENT: 'no folder can be made there',
};

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Does something that writes to the cache.
 * @param what is written, such as `the built model`
 * @throws {ModelError} in place of the system's error, saying which folder is needed for what
 */
export async function writingToCache<R>(
  cacheDirectory: string,
  what: string,
  action: () => Promise<R>,
): Promise<R> {
  try {
    return await action();
  } catch (error) {
    if (!isFileError(error)) throw error;
    const { code = '', path = cacheDirectory } = error;
    if (FULL.has(code)) {
      throw new ModelError(
        `the disk is full: ${what} does not fit into ${cacheDirectory} ` +
          '(set CHAIRLIFT_CACHE to a folder on another disk)',
        { cause: error },
      );
    }
    throw new ModelError(
      `the cache ${cacheDirectory} can not be written to, ${REASONS[code]} (${code} ${path}): ` +
        `${what} is kept there. Make it writable, or set CHAIRLIFT_CACHE to a folder that is`,
      { cause: error },
    );
  }
}

/** Whether something failed because of the folder that it was to be written to. */
export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return false;
  if (FULL.has(error.code)) return true;
  // Connections are refused by the same codes.
  return error.code in REASONS && 'syscall' in error && error.syscall !== 'connect';
}
