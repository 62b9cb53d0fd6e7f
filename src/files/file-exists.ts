import { stat } from 'node:fs/promises';

/** Whether there is a file or a folder, and it can be asked about. */
export async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
