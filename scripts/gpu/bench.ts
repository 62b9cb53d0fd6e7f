/**
 * Decoding on GPUs, compared with the CPU for correctness and with PyTorch for speed, with random
 * weights. fp16 and int4 are computed in float16, fp32 in float32; the CPU computes in float32
 * always. Usually started by scripts/gpu/run.sh:
 *
 *   scripts/gpu/run.sh [--out DIR] [--time-limit 570] [--job-timeout 240]
 *     [--devices webgpu,cuda] [--attention slots,captured,paged] [--shapes 135m,0.5b,1b,8b]
 *     [--precisions fp16,int4] [--rows 1,2,4,...,256] [--prompt 64] [--steps 32]
 *     [--cache DIR] [--dry-run]
 *
 * The most important comes first: correctness, then speed, by device, way of attention and shape.
 * Each job is a process with a time limit of its own; models are built at the same time, and a job
 * waits only for its own model. results.json and results.md are written with every number, so that
 * what was measured is kept in any case; with `--time-limit` the rest is marked as missing after
 * that many seconds. `captured` is slots with `--graph-capture`, WebGPU alone. `--dry-run` goes
 * through everything with tiny shapes.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DEVICE_NAMES } from '../../src/engine/gpu/device-options.ts';
import { PRECISIONS } from '../../src/model/manifest.ts';
import { availableProviders, ortVersion } from '../../src/ort/environment.ts';
import { machineShape } from '../bench/lib/machine.ts';
import { Builds } from './builds.ts';
import type { Job, JobResult } from './job.ts';
import { killPrograms, runProgram } from './processes.ts';
import { type Entry, markdown, nameOf, type Report } from './report.ts';
import { shapeNamed } from './shapes.ts';

const folder = dirname(fileURLToPath(import.meta.url));
/** scripts/gpu/pack.sh compiles what it packs. */
const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'gpu-results' },
    cache: { type: 'string', default: join(tmpdir(), 'chairlift-gpu-models') },
    devices: { type: 'string', default: 'webgpu,cuda' },
    attention: { type: 'string', default: 'slots,captured,paged' },
    shapes: { type: 'string', default: '135m,0.5b,1b,8b' },
    precisions: { type: 'string', default: 'fp16,int4' },
    rows: { type: 'string', default: '1,2,4,8,16,32,64,128,256' },
    prompt: { type: 'string', default: '64' },
    steps: { type: 'string', default: '32' },
    python: { type: 'string', default: 'python3' },
    'job-timeout': { type: 'string', default: '240' },
    'time-limit': { type: 'string', default: '86400' },
    'dry-run': { type: 'boolean', default: false },
  },
});

const isDry = values['dry-run'];
const listed = (text: string) => text.split(',').filter((item) => item !== '');
const shapes = isDry ? ['tiny'] : listed(values.shapes);
const precisions = listed(isDry ? 'fp32,fp16,int4' : values.precisions).map((name) =>
  oneOf(PRECISIONS, name),
);
const rows = (isDry ? ['1', '3'] : listed(values.rows)).map(Number);
const steps = isDry ? 4 : Number(values.steps);
const promptTokens = isDry ? 24 : Number(values.prompt);
const out = resolve(values.out);
const deadline = performance.now() + 1000 * Number(values['time-limit']);
const jobTimeout = 1000 * Number(values['job-timeout']);
/** The fewer that a job is tried with again if its device could not hold all of them. */
const FEW_ROWS = 3;

/** Device and attention are of no matter to a build. */
const BUILDER = { device: 'webgpu', attention: 'slots', graphCapture: false } as const;

for (const shape of shapes) shapeNamed(shape);
mkdirSync(out, { recursive: true });

const report: Report = {
  machine: machineShape(),
  gpu: nvidiaSmi(),
  runtime: ortVersion(),
  providers: availableProviders(),
  promptTokens,
  entries: [],
};

const ways = listed(values.devices).flatMap((device) =>
  listed(values.attention).map((name) => {
    const way = oneOf(['slots', 'captured', 'paged'], name);
    const attention = way === 'paged' ? way : ('slots' as const);
    return { device: oneOf(DEVICE_NAMES, device), attention, graphCapture: way === 'captured' };
  }),
);

const builds = new Builds((job) =>
  runProgram(process.execPath, argumentsOf(job), remaining()).then(({ error }) => error),
);
process.once('SIGTERM', () => {
  killPrograms();
  process.exit(1);
});
await main().finally(killPrograms);
save();
console.log(markdown(report));

async function main(): Promise<void> {
  const base = { rows, promptTokens, steps, cacheDirectory: resolve(values.cache) };
  for (const shape of shapes) {
    for (const precision of precisions) {
      builds.add({ ...base, ...BUILDER, kind: 'build', shape, precision });
    }
  }
  for (const way of ways.filter(
    ({ device, graphCapture }) => device === 'webgpu' || !graphCapture,
  )) {
    const works = new Set<string>();
    // PagedAttention takes float16.
    for (const precision of ['fp32', 'fp16', 'int4'] as const) {
      if (way.attention === 'paged' && precision === 'fp32') continue;
      const { error } = await record({ ...base, ...way, kind: 'check', shape: 'tiny', precision });
      if (error === undefined) works.add(precision);
    }
    // A precision that can't even run a tiny model has no speed.
    let jobs = shapes.flatMap((shape) =>
      precisions
        .filter((precision) => works.has(precision))
        .map((precision): Job => ({ ...base, ...way, kind: 'measure', shape, precision })),
    );
    while (jobs.length > 0) {
      const job = await builds.firstReady(jobs);
      jobs = jobs.filter((other) => other !== job);
      const result = await record(job);
      const isTooMuch = result.error !== undefined && !result.steps && rows.length > FEW_ROWS;
      if (isTooMuch && builds.failureOf(job) === undefined) {
        await record({ ...job, rows: rows.slice(0, FEW_ROWS) });
      }
    }
  }
  for (const shape of shapes) {
    const config = JSON.stringify(shapeNamed(shape));
    const script = join(folder, 'torch_generate.py');
    const limits = [rows.join(','), String(promptTokens), String(steps)];
    const entry = { device: 'torch', shape, precision: 'fp16' };
    await track(entry, values.python, [script, config, ...limits]);
  }
}

async function record(job: Job): Promise<JobResult> {
  const { device, attention, graphCapture, shape, precision, kind } = job;
  const entry = { device, attention, graphCapture, shape, precision, isCheck: kind === 'check' };
  const failure = builds.failureOf(job);
  if (failure !== undefined) {
    const result = { error: `the model could not be built: ${failure}` };
    report.entries.push({ ...entry, ...result });
    return result;
  }
  return track(entry, process.execPath, argumentsOf(job));
}

/** Runs a program, and keeps the report up to date with what it finds out. */
async function track(
  entry: Omit<Entry, keyof JobResult>,
  program: string,
  args: readonly string[],
): Promise<JobResult> {
  const index = report.entries.length;
  const note = (result: JobResult) => {
    report.entries[index] = { ...entry, ...result };
    save();
  };
  note({ error: 'under way' });
  console.error(`${Math.round(performance.now() / 1000)} s: ${nameOf(entry)}`);
  const timeout = Math.min(jobTimeout, remaining());
  const result =
    timeout < 1000
      ? { error: 'not run: the time was up' }
      : await runProgram(program, args, timeout, note);
  note(result);
  return result;
}

function argumentsOf(job: Job): string[] {
  const program = join(folder, RUNS_FROM_SOURCE ? 'measure.ts' : 'measure.js');
  return [...(RUNS_FROM_SOURCE ? ['--import', 'tsx'] : []), program, JSON.stringify(job)];
}

function remaining(): number {
  return Math.max(1, Math.floor(deadline - performance.now()));
}

function save(): void {
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(out, 'results.md'), markdown(report));
}

function nvidiaSmi(): string {
  const query = ['--query-gpu=name,memory.total,driver_version', '--format=csv,noheader'];
  const { stdout, status } = spawnSync('nvidia-smi', query, { encoding: 'utf8', timeout: 30_000 });
  return status === 0 ? stdout.trim() : 'no NVIDIA GPU';
}

function oneOf<const T extends string>(known: readonly T[], name: string): T {
  const found = known.find((other) => other === name);
  if (found === undefined) throw new RangeError(`"${name}" is none of ${known.join(', ')}`);
  return found;
}
