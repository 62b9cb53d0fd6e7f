/** Puts the server's code for Lambda into few files: each file that a start opens takes time. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { build, type Plugin } from 'vite';

/** Found as files, not as code: they have native parts, or start threads from files of their own. */
export const PACKAGES = ['@mlc-ai/web-xgrammar', 'koffi', 'onnxruntime-node', 'piscina'] as const;
/** Where all packed code is, in the output; as deep as the folders of `dist`. */
const PACKED = 'packed';

/** Files that start as a process or a thread of their own. */
const STARTED = /new URL\('(\.[^']+\.js)', import\.meta\.url\)/g;

/**
 * @param source folder of compiled code, absolute
 * @param entry its path in there, with slashes
 * @param target folder of the packed code: what was at a path of `source` and is started, is there too
 */
export async function packCode(source: string, entry: string, target: string): Promise<void> {
  const entries = [entry, ...startedFiles(source)];
  const packed = await build({
    configFile: false,
    logLevel: 'warn',
    plugins: [whereItWas(source)],
    ssr: { noExternal: true, external: [...PACKAGES] },
    build: {
      ssr: true,
      target: 'node20',
      outDir: target,
      emptyOutDir: false,
      minify: true,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((path) => [nameOf(path), join(source, path)])),
        output: {
          entryFileNames: `${PACKED}/[name].js`,
          chunkFileNames: `${PACKED}/[name]-[hash].js`,
        },
      },
    },
  });
  if (Array.isArray(packed) || !('output' in packed))
    throw new TypeError('one output was expected');
  const { output } = packed;
  for (const path of entries) {
    const chunk = output.find((each) => each.type === 'chunk' && each.name === nameOf(path));
    if (chunk?.type !== 'chunk') throw new Error(`${path} was not packed`);
    const from = JSON.stringify(
      posix.join(posix.relative(posix.dirname(path), ''), chunk.fileName),
    );
    const hasDefault = chunk.exports.includes('default');
    mkdirSync(join(target, dirname(path)), { recursive: true });
    writeFileSync(
      join(target, path),
      `export * from ${from};\n${hasDefault ? `export { default } from ${from};\n` : ''}`,
    );
  }
}

/** Code finds files by where it is itself: it is told where it was. */
function whereItWas(source: string): Plugin {
  return {
    name: 'where-it-was',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(source) || !code.includes('import.meta.url')) return null;
      const from = posix.join('..', relative(source, id).split(sep).join('/'));
      const url = `new URL(${JSON.stringify(from)}, import.meta.url).href`;
      return code.replaceAll('import.meta.url', `(${url})`);
    },
  };
}

/** `engine/process/main.js` becomes `engine-process-main`. */
function nameOf(path: string): string {
  return path.replace(/\.js$/, '').replaceAll('/', '-');
}

/** Paths in `source`, with slashes, of what its code starts. */
function startedFiles(source: string): string[] {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const started = files
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const code = readFileSync(join(source, file), 'utf8');
      const folder = dirname(file).split(sep).join('/');
      return [...code.matchAll(STARTED)].map(([, path = '']) => posix.join(folder, path));
    });
  return [...new Set(started)];
}
