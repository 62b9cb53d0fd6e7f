import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { isMadeFrom, PROGRAM_STAMP, programSources } from './scripts/built-from.mjs';
import { shared } from './test/support/vitest-shared.ts';

/**
 * Suites of their own: `npm run test:e2e`, `npm run test:gpu`, `npm run test:web`, attacks on real servers,
 * `npm run test:hostile`, models that must be fetched, `npm run test:real-models`, images,
 * `npm run test:container`, a cluster, `npm run test:kubernetes`, another processor, `npm run test:arm64`,
 * and commands of the documentation, `npm run test:docs`.
 */
const OTHERS = [
  'test/arm64/**',
  'test/container/**',
  'test/docs/commands/**',
  'test/e2e/**',
  'test/gpu/**',
  'test/hostile/**',
  'test/kubernetes/**',
  'test/real-models/**',
  'test/web/**',
];

/**
 * Plain TypeScript. Files that load ONNX Runtime in folders where few do are left out by name: native code that
 * crashes takes with it the files that were to follow in its process (skip-reporter.ts names the one that did).
 */
const PLAIN = [
  'test/*.test.ts',
  'test/{bench,cli,client,files,front,grammar,grpc,net,observability,onnx,page,server,serving,settings}/**/*.test.ts',
  'test/{deploy,docs,images,models,simulate,threads}/*.test.ts',
  'test/engine/{costs,kv-cache,scheduling,tap}/*.test.ts',
  'test/engine/sampling/!(prompt-logprobs).test.ts',
  'test/engine/states/{snapshots,state-*}.test.ts',
  'test/eval/{compare/*,eval-file,token-jobs}.test.ts',
  'test/model/{cache,dual,encoder,native,tokenizer}/*.test.ts',
  'test/model/gguf/!(kept-integers|large-vocabulary|hybrids).test.ts',
  'test/model/huggingface/!(parameter-count).test.ts',
  'test/model/vision/{canvas,line,llava,square}-config.test.ts',
  'test/model/quantize/!(block-matrix|packed-matrix).test.ts',
];

/**
 * Whether tests, and the processes and threads that they start, take the sources from `dist`, where they are
 * compiled. Never another version of them: `npm test` compiles first, and a run that watches may see them change.
 * Coverage is counted in the sources themselves.
 */
const IS_BUILT =
  process.argv.includes('run') &&
  !process.argv.includes('--coverage') &&
  isMadeFrom(PROGRAM_STAMP, programSources());
const SOURCES = fileURLToPath(new URL('src/', import.meta.url));
const BUILD = fileURLToPath(new URL('dist/', import.meta.url));
/** Any path may lead here, so its letters stand for themselves. */
const IN_BUILD = new RegExp(`^${BUILD.replaceAll(/[^\w/]/g, String.raw`\$&`)}`);

const fromBuild: Plugin = {
  name: 'from-build',
  enforce: 'pre',
  resolveId(imported, importer) {
    if (importer === undefined || !imported.startsWith('.')) return null;
    const file = resolve(dirname(importer), imported);
    if (!file.startsWith(SOURCES) || !file.endsWith('.ts')) return null;
    return BUILD + file.slice(SOURCES.length).replace(/\.ts$/, '.js');
  },
};

export default defineConfig({
  plugins: IS_BUILT ? [fromBuild] : [],
  test: {
    ...shared,
    server: { deps: { external: [/\/node_modules\//, IN_BUILD] } },
    // More processes than cores: threads of V8's that collect garbage beside them cost more than they save.
    execArgv: ['--expose-gc', '--single-threaded-gc'],
    // At least three files at once, since many of them wait: two leave a seventh of two cores idle. Models have a
    // thread each: with more threads than cores, those that spin while they wait would hold up all others.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    env: { CHAIRLIFT_THREADS: '1' },
    // `npm run coverage`. Servers and engines in processes of their own, and threads, do not count.
    coverage: {
      include: ['src/**/*.ts'],
      exclude: ['src/onnx/onnx_pb.ts', 'src/grpc/proto/inference_pb.ts'],
      reporter: ['text-summary', 'html', 'json-summary'],
    },
    // Files share processes, for starting one takes longer than most of them.
    projects: [
      { extends: true, test: { name: 'plain', include: PLAIN, isolate: false } },
      {
        extends: true,
        test: {
          name: 'native',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...PLAIN, ...OTHERS],
        },
      },
    ],
  },
});
