// Whether `dist` was compiled from the sources as they are. Plain JavaScript without dependencies: setup.mjs
// asks before there are any.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
/** File in `dist` with a hash of the sources that it was compiled from. */
export const PROGRAM_STAMP = '.built-from';

/** Files that `dist` is compiled from, relative to the root. */
export function programSources() {
  return ['package.json', 'tsconfig.json', ...filesBelow('src')];
}

/** Whether what was made in `dist` under this stamp was made of these very files. */
export function isMadeFrom(stamp, files) {
  return readIfThere(join(root, 'dist', stamp)) === hashOfFiles(files);
}

/** @param files relative to the root */
export function hashOfFiles(files) {
  return hash(
    files.map((file) => readFileSync(join(root, file))),
    files.join('\n'),
  );
}

export function filesBelow(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort();
}

export function hash(buffers, salt) {
  const digest = createHash('sha256').update(salt);
  for (const buffer of buffers) digest.update(buffer);
  return digest.digest('hex');
}

export function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}
