/**
 * Decoding on GPUs, against the CPU for correctness and beside PyTorch for speed, with random weights.
 * fp16 and int4 are computed in float16, fp32 in float32; the CPU computes in float32 always.
 * Usually started by scripts/gpu/run.sh:
 *
 *   scripts/gpu/run.sh [--out DIR] [--devices webgpu,cuda] [--attention slots,captured,paged]
 *     [--shapes 135m,0.5b,1b,8b] [--precisions fp16,int4] [--rows 1,2,4,...,256]
 *     [--prompt 64] [--steps 32] [--dry-run]
 *
 * Writes results.json and results.md after every job, so that what was measured is kept whatever
 * comes. `captured` is slots with `--graph-capture`, WebGPU alone. `--dry-run` goes through everything
 * with tiny shapes.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DEVICE_NAMES } from '../../src/engine/device.ts';
import { PRECISIONS } from '../../src/model/manifest.ts';
import { availableProviders, ortVersion } from '../../src/ort/environment.ts';
import { machineShape } from '../bench/lib/machine.ts';
import type { Job, JobResult } from './job.ts';
import { markdown, nameOf, type Report } from './report.ts';
import { shapeNamed } from './shapes.ts';

const folder = dirname(fileURLToPath(import.meta.url));

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'gpu-results' },
    devices: { type: 'string', default: 'webgpu,cuda' },
    attention: { type: 'string', default: 'slots,captured,paged' },
    shapes: { type: 'string', default: '135m,0.5b,1b,8b' },
    precisions: { type: 'string', default: 'fp16,int4' },
    rows: { type: 'string', default: '1,2,4,8,16,32,64,128,256' },
    prompt: { type: 'string', default: '64' },
    steps: { type: 'string', default: '32' },
    python: { type: 'string', default: 'python3' },
    'job-timeout': { type: 'string', default: '900' },
    'dry-run': { type: 'boolean', default: false },
  },
});

const isDry = values['dry-run'];
const shapes = isDry ? ['tiny'] : values.shapes.split(',');
const precisions = (isDry ? ['fp32', 'fp16', 'int4'] : values.precisions.split(',')).map((name) =>
  oneOf(PRECISIONS, name),
);
const rows = (isDry ? '1,3' : values.rows).split(',').map(Number);
const steps = isDry ? 4 : Number(values.steps);
const promptTokens = isDry ? 24 : Number(values.prompt);
const out = resolve(values.out);
const timeout = 1000 * Number(values['job-timeout']);
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

for (const device of values.devices.split(',').map((name) => oneOf(DEVICE_NAMES, name))) {
  for (const way of values.attention
    .split(',')
    .map((name) => oneOf(['slots', 'captured', 'paged'], name))) {
    const graphCapture = way === 'captured';
    if (graphCapture && device !== 'webgpu') continue;
    const attention = way === 'paged' ? way : 'slots';
    const cacheDirectory = join(out, 'cache');
    const base = { device, attention, graphCapture, promptTokens, steps, cacheDirectory } as const;
    const works = precisions
      // PagedAttention takes float16.
      .filter((precision) => attention === 'slots' || precision !== 'fp32')
      // What can't even run a tiny model has no speed.
      .filter((precision) => {
        const { error } = record({ ...base, shape: 'tiny', precision, check: true, rows: [] });
        return error === undefined;
      });
    for (const shape of shapes) {
      for (const precision of works) {
        record({ ...base, shape, precision, check: false, rows });
      }
    }
  }
}
for (const shape of shapes) runTorch(shape);
save();
console.log(markdown(report));

function record(job: Job): JobResult {
  const { device, attention, graphCapture, shape, precision, check: isCheck } = job;
  const entry = { device, attention, graphCapture, shape, precision, isCheck };
  console.error(nameOf(entry));
  const result = resultOf(process.execPath, [
    '--import',
    'tsx',
    join(folder, 'measure.ts'),
    JSON.stringify(job),
  ]);
  report.entries.push({ ...entry, ...result });
  save();
  return result;
}

/** The same shape by transformers, where PyTorch is at hand. */
function runTorch(shape: string): void {
  const config = JSON.stringify(shapeNamed(shape));
  const limits = [rows.join(','), String(promptTokens), String(steps)];
  const script = join(folder, 'torch_generate.py');
  const result = resultOf(values.python, [script, config, ...limits]);
  report.entries.push({ device: 'torch', shape, precision: 'fp16', ...result });
  save();
}

/** Runs a program; its last line of output is the result. */
function resultOf(program: string, args: readonly string[]): JobResult {
  const { stdout, stderr, error, status, signal } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout,
    maxBuffer: 2 ** 26,
  });
  const line = stdout?.trimEnd().split('\n').at(-1) ?? '';
  if (line.startsWith('{')) return JSON.parse(line) as JobResult;
  const end = stderr?.trimEnd().split('\n').slice(-3).join(' ') ?? '';
  return { error: error?.message ?? `ended with ${signal ?? status}: ${end}` };
}

function save(): void {
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(out, 'results.md'), markdown(report));
}

function nvidiaSmi(): string {
  const query = ['--query-gpu=name,memory.total,driver_version', '--format=csv,noheader'];
  const { stdout, status } = spawnSync('nvidia-smi', query, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'no NVIDIA GPU';
}

function oneOf<const T extends string>(known: readonly T[], name: string): T {
  const found = known.find((other) => other === name);
  if (found === undefined) throw new RangeError(`"${name}" is none of ${known.join(', ')}`);
  return found;
}
