import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What the package brings: libraries by platform, and what they and their sources hash to. */
export const PREBUILT = fileURLToPath(new URL('../../native/prebuilt', import.meta.url));

export const PLATFORM = `${process.platform}-${process.arch}`;

/** Of this platform, in a folder like PREBUILT. */
export function libraryPath(folder: string): string {
  return join(folder, PLATFORM, 'libchairlift.so');
}

/** Whether the package brings kernels for this platform; what is in the file is not looked at. */
export function hasLibrary(): boolean {
  return existsSync(libraryPath(PREBUILT));
}
