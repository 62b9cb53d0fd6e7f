import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const OUTPUT = fileURLToPath(new URL('../dist/web', import.meta.url));

const HASHED = 'assets/[name]-[hash].js';

/** The page, from `web/src` to `dist/web`, where the server finds it. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/ui/',
  // Scripts find each other below whatever root the server has (src/server/http/root-path.ts).
  experimental: {
    renderBuiltUrl: (_, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
  plugins: [compress()],
  // `npm run dev:web`: the page from here, everything else from a server.
  server: { proxy: { '^/(?!ui/|$|@)': 'http://127.0.0.1:8000' } },
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    // The first browsers with `light-dark()`.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the page forbids `data:` scripts, and small files are cheap.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: 'web/index.html', docs: 'web/src/docs/main.tsx' },
      // The server's own page of documentation names its script: it has no build that could.
      output: { entryFileNames: (entry) => (entry.name === 'docs' ? 'docs.js' : HASHED) },
    },
    reportCompressedSize: false,
  },
});

/** Writes `FILE.gz` next to each file, so that the server compresses nothing. */
function compress(): Plugin {
  return {
    name: 'compress',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(OUTPUT, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(html|js|css|svg|webmanifest)$/.test(name)) continue;
        const path = join(OUTPUT, name);
        const level = constants.Z_BEST_COMPRESSION;
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level }));
      }
    },
  };
}
