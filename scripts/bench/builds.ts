/**
 * How long it takes to build a model, and how much memory, by precision and by number of threads: on a
 * checkpoint in bfloat16 with a well-known shape and random weights, which is written to a temporary folder first
 * (1.0 GB for qwen2.5-0.5b, 16 GB for llama-3.1-8b) and removed afterwards.
 *
 *   npx tsx scripts/bench/builds.ts [--shape qwen2.5-0.5b] [--precisions int4,int8,fp32] [--threads 1,2] [--json]
 *
 * Each build is a process of its own over an empty cache folder. Hashes of the weights are known beforehand, as
 * they are when a model is built in another precision; the file's pages are in the system's cache.
 */
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contentHash } from '../../src/model/cache/content-hash.ts';
import { weightFiles } from '../../src/model/huggingface/safetensors.ts';
import { PRECISIONS, type Precision } from '../../src/model/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { machineShape } from './lib/machine.ts';
import { requireShape } from './lib/known-shapes.ts';
import { writeMadeUpCheckpoint } from './lib/made-up-checkpoint.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: 'qwen2.5-0.5b' },
    precisions: { type: 'string', default: 'int4,int8,fp32' },
    threads: { type: 'string', default: `1,${availableParallelism()}` },
    json: { type: 'boolean', default: false },
    /** Build of a process of its own: `<folder> <cache> <precision> <threads>`. */
    one: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

interface Build {
  readonly precision: Precision;
  readonly threads: number;
  readonly seconds: number;
  /** Seconds of CPU. */
  readonly cpuSeconds: number;
  /** Memory of the process, at most. */
  readonly residentMb: number;
  readonly weightsMb: number;
  /** SHA-256 of the weights, in hex. */
  readonly hash: string;
}

function precisionOf(name: string): Precision {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  return precision;
}

/** Builds once in this process. */
async function buildOnce(folder: string, cache: string, precision: Precision, threads: number) {
  for (const file of await weightFiles(folder, await readdir(folder))) {
    await contentHash(file, join(cache, 'content-hashes'));
  }
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const { graphPath } = await prepareModel(
    { kind: 'folder', path: folder },
    {
      precision,
      cacheDirectory: cache,
      threads: () => threads,
      ...(precision.startsWith('int') && { nativeKernels: { kvCacheDtype: 'float16' } }),
    },
  );
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const residentMb = process.resourceUsage().maxRSS / 1024;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(`${graphPath}.data`)) {
    hash.update(piece);
    bytes += piece.length;
  }
  const cpuSeconds = (user + system) / 1e6;
  const weightsMb = bytes / 2 ** 20;
  const found: Build = {
    precision,
    threads,
    seconds,
    cpuSeconds,
    residentMb,
    weightsMb,
    hash: hash.digest('hex'),
  };
  console.log(JSON.stringify(found));
}

async function measureAll(): Promise<void> {
  const shape = requireShape(values.shape);
  const work = await mkdtemp(join(tmpdir(), 'chairlift-builds-'));
  try {
    const folder = join(work, 'model');
    await writeMadeUpCheckpoint(folder, shape);
    const builds: Build[] = [];
    for (const precision of values.precisions.split(',').map(precisionOf)) {
      for (const threads of values.threads.split(',').map(Number)) {
        const cache = join(work, 'cache');
        await mkdir(cache);
        const script = fileURLToPath(import.meta.url);
        const given = ['--one', folder, cache, precision, String(threads)];
        const output = execFileSync(process.execPath, [...process.execArgv, script, ...given], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        builds.push(JSON.parse(output) as Build);
        await rm(cache, { recursive: true });
      }
    }
    report(builds);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function report(builds: readonly Build[]): void {
  if (values.json) {
    console.log(JSON.stringify(builds, null, 2));
    return;
  }
  console.log(`${values.shape}, random weights in bfloat16; ${machineShape()}\n`);
  const rows = builds.map((build) => [
    build.precision,
    String(build.threads),
    build.seconds.toFixed(1),
    build.cpuSeconds.toFixed(1),
    build.residentMb.toFixed(0),
    build.weightsMb.toFixed(0),
    build.hash.slice(0, 12),
  ]);
  printTable(['weights', 'threads', 's', 'CPU s', 'MiB', 'file MiB', 'sha256'], rows);
}

if (values.one) {
  const [folder = '', cache = '', precision = '', threads = ''] = process.argv.slice(-4);
  await buildOnce(folder, cache, precisionOf(precision), Number(threads));
} else {
  await measureAll();
}
