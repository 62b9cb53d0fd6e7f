import { readFile, stat } from 'node:fs/promises';

/**
 * Reads a file of a model that may be anything: reading a pipe could wait forever, and a device has
 * no end.
 * @throws Error when it can't be read, is no plain file, or has more than `maxBytes`
 */
export async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > maxBytes) throw new Error(`it has ${stats.size} bytes, more than ${maxBytes}`);
  return readFile(path);
}
