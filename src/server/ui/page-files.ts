/** The files of the page, in memory: a few hundred kilobytes, read once. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

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
 * @param rootPath see ServerConfig
 * @returns null where the page was not built
 */
export async function readPageFiles(folder: string, rootPath = ''): Promise<PageFiles | null> {
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
    files.set(name.replaceAll(sep, '/'), fileOf(type, bytes, gzip));
  }
  const index = files.get('index.html');
  return index === undefined ? null : { index: below(rootPath, index), files };
}

function fileOf(type: string, bytes: Buffer, gzip: Buffer | null): PageFile {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { type, bytes: new Uint8Array(bytes), gzip: gzip && new Uint8Array(gzip), etag };
}

/** The page with the addresses of its files below the root. */
function below(rootPath: string, index: PageFile): PageFile {
  if (rootPath === '') return index;
  const text = Buffer.from(index.bytes).toString().replaceAll('="/ui/', `="${rootPath}/ui/`);
  const bytes = Buffer.from(text);
  return fileOf(index.type, bytes, gzipSync(bytes));
}
