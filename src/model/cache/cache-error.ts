import { isFileError, meaningOf } from '../../files/system-error.ts';
import { ModelError } from '../model-error.ts';

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
    const { code, path = cacheDirectory } = error;
    if (FULL.has(code)) {
      throw new ModelError(
        `the disk is full: ${what} does not fit into ${cacheDirectory} ` +
          '(set CHAIRLIFT_CACHE to a folder on another disk)',
        { cause: error },
      );
    }
    throw new ModelError(
      `the cache ${cacheDirectory} cannot be written to, ${meaningOf(error)} (${code} ${path}): ` +
        `${what} is kept there. Make it writable, or set CHAIRLIFT_CACHE to a folder that is`,
      { cause: error },
    );
  }
}
