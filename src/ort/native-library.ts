import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the package with prebuilt libraries by platform, and hashes of them and their sources. */
export const PREBUILT = fileURLToPath(new URL('../../native/prebuilt', import.meta.url));

export const PLATFORM = `${process.platform}-${process.arch}`;

/** Path of this platform's library, in a folder like PREBUILT. */
export function libraryPath(folder: string): string {
  return join(folder, PLATFORM, 'libchairlift.so');
}

/** Whether the package brings kernels for this platform; what is in the file is not looked at. */
export function hasLibrary(): boolean {
  return existsSync(libraryPath(PREBUILT));
}
