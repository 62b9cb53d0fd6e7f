/** The files of the page, in memory: a few hundred kilobytes, read once. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** Types that are compressed already: no `.gz` of them is kept. */
const PACKED: ReadonlySet<string> = new Set(['.png']);

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Null for what gzip makes no smaller. */
  readonly gzip: Uint8Array<ArrayBuffer> | null;
  /** Hash of its content. */
  readonly etag: string;
}

export interface PageFiles {
  readonly index: PageFile;
  /** By name, with slashes, such as `assets/index-1a2b.js`. */
  readonly files: ReadonlyMap<string, PageFile>;
}

/**
 * @param folder with files and their `.gz`, as `web/vite.config.ts` writes them
 * @returns null where the page was not built
 */
export async function readPageFiles(folder: string): Promise<PageFiles | null> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const extension = extname(name);
    const type = TYPES[extension];
    if (type === undefined) continue;
    const path = join(folder, name);
    const [bytes, gzip] = await Promise.all([
      readFile(path),
      PACKED.has(extension) ? null : readFile(`${path}.gz`),
    ]);
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    files.set(name.replaceAll(sep, '/'), {
      type,
      bytes: new Uint8Array(bytes),
      gzip: gzip && new Uint8Array(gzip),
      etag,
    });
  }
  const index = files.get('index.html');
  return index === undefined ? null : { index, files };
}
