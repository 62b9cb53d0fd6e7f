/**
 * Memory and speed of a server by model size and precision. First what docs/sizing.md's formulas give for
 * well-known shapes; then, of the cases that are named, what a real server with random weights of that shape
 * and as large a vocabulary takes when it starts from its build: resident memory once it is ready and at most
 * until its KV cache is full, beside what `chairlift fit` says of it (a server without a model, weights, KV
 * cache), and tokens per second. Linux.
 *
 *   npm run build && npx tsx scripts/bench/sizing.ts [--cases summit:int8,smollm2-135m:int8] [--streams 16] [--prompt-len 512]
 *     [--output-len 64] [--kv-cache-memory 256m]
 *
 * `--cases none` prints the formulas alone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { nativePositionWidth } from '../../src/model/native/position-width.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { countParameters } from '../../src/model/huggingface/parameter-count.ts';
import { PRECISIONS, type Precision } from '../../src/model/manifest.ts';
import { checkpointBytes, serverBytes } from '../../src/serving/plan/memory.ts';
import { childrenOf } from '../../test/support/processes.ts';
import { paddedTokenizer, writeTokenizer } from './cpu-eval/tokenizer.ts';
import { KNOWN_SHAPES } from './lib/known-shapes.ts';
import { machineShape } from './lib/machine.ts';
import { writeMadeUpCheckpoint } from './lib/made-up-checkpoint.ts';
import { addressOf } from './lib/server-address.ts';
import { NO_DRAFTS } from './lib/server-process.ts';
import { printTable } from './lib/table.ts';

const MIB = 2 ** 20;

const SHAPES: Readonly<Record<string, object>> = KNOWN_SHAPES;

const SHOWN = ['fp32', 'fp16', 'int8', 'int4'] as const;
/** Bytes per second of two cores' memory, and the share of it that our kernels get (docs/benchmarks.md#roofline). */
const BANDWIDTH = 40e9;
const SHARE = 0.69;
/** Positions of the formulas' example: 8 sequences of 4096. */
const POSITIONS = 8 * 4096;

function sizes(name: string, shape: object) {
  const config = parseDecoderConfig(shape, name);
  const { numLayers, numKvHeads, headDim } = config;
  const numWeights = countParameters(config);
  const weights = (precision: Precision) => checkpointBytes(config, precision, true);
  const kvBytes = 2 * numLayers * numKvHeads * nativePositionWidth(headDim, 'int8');
  return { numWeights, weights, kvBytes };
}

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: 'summit:int8,smollm2-135m:int8,smollm2-135m:int4' },
    streams: { type: 'string', default: '16' },
    'prompt-len': { type: 'string', default: '512' },
    'output-len': { type: 'string', default: '64' },
    'kv-cache-memory': { type: 'string', default: '256m' },
  },
});

printTable(
  [
    'shape',
    'weights, million',
    ...SHOWN,
    'KV bytes a token',
    'KV of 8 x 4096',
    'tokens/s int8',
    'int4',
  ],
  Object.entries(SHAPES).map(([name, shape]) => {
    const { numWeights, weights, kvBytes } = sizes(name, shape);
    const gigabytes = SHOWN.map((precision) => `${(weights(precision) / 1e9).toFixed(2)} GB`);
    const cache = `${((POSITIONS * kvBytes) / 1e9).toFixed(2)} GB`;
    const rates = (['int8', 'int4'] as const).map((precision) =>
      ((BANDWIDTH * SHARE) / weights(precision)).toFixed(0),
    );
    return [name, (numWeights / 1e6).toFixed(0), ...gigabytes, String(kvBytes), cache, ...rates];
  }),
);

const numStreams = Number(values.streams);
const promptTokens = Number(values['prompt-len']);
const outputTokens = Number(values['output-len']);

const engineState = z.object({
  engine: z.object({ kv_cache_bytes: z.number(), kv_cache_tokens: z.number() }),
});
const state = z.object({ models: z.tuple([engineState]) });

/** MiB by the kernel's count, as `VmRSS` now or `VmHWM` at most. */
function memory(pid: number | undefined, key: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
}

let numSent = 0;

/** Sends prompts that begin with other tokens than all before. @returns tokens per second of all */
async function decode(url: string, streams: number, maxTokens = outputTokens): Promise<number> {
  const startedAt = performance.now();
  const answers = Array.from({ length: streams }, async () => {
    const begin = 13 * numSent++;
    const prompt = Array.from({ length: promptTokens }, (_, i) => 10 + ((i * 7 + begin) % 400));
    const body = { prompt, max_tokens: maxTokens, ignore_eos: true, temperature: 0 };
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    await response.arrayBuffer();
  });
  await Promise.all(answers);
  return (streams * maxTokens * 1000) / (performance.now() - startedAt);
}

/** Bytes by the formulas that `fit` and docs/sizing.md have. */
function stated(name: string, precision: string, kvBytes: number): number {
  const known = PRECISIONS.find((each) => each === precision);
  const shape = SHAPES[name];
  if (known === undefined || shape === undefined) return NaN;
  return serverBytes(parseDecoderConfig(shape, name)) + sizes(name, shape).weights(known) + kvBytes;
}

/** @param cache folder of its builds; null is the user's own */
function start(flags: readonly string[], cache: string | null): ChildProcess {
  return spawn(process.execPath, ['dist/cli/main.js', 'serve', '--port=0', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...(cache !== null && { CHAIRLIFT_CACHE: cache }) },
  });
}

async function build(flags: readonly string[], cache: string): Promise<void> {
  const child = start(flags, cache);
  const ended = once(child, 'close');
  await addressOf(child);
  child.kill('SIGTERM');
  await ended;
}

async function measure(name: string, folder: string | null, precision: string) {
  const flags = [
    '--log-level=warn',
    NO_DRAFTS,
    `--precision=${precision}`,
    `--kv-cache-memory=${values['kv-cache-memory']}`,
    ...(folder === null ? [] : ['--model', folder]),
  ];
  const cache = folder && join(folder, 'cache');
  if (cache !== null) await build(flags, cache);
  const child = start(flags, cache);
  const ended = once(child, 'close');
  try {
    const url = await addressOf(child);
    const [engine] = childrenOf(child.pid);
    const ready = memory(engine, 'VmRSS');
    const response = await fetch(`${url}/admin/status`);
    const [first] = state.parse(await response.json()).models;
    const { kv_cache_bytes: kvBytes, kv_cache_tokens: kvTokens } = first.engine;
    const one = await decode(url, 1);
    const all = await decode(url, numStreams);
    // Texts that have ended stay for prompts that begin alike, until there is no room.
    for (let filled = 0; filled < kvTokens; filled += numStreams * promptTokens) {
      await decode(url, numStreams, 1);
    }
    const most = memory(child.pid, 'VmHWM') + memory(engine, 'VmHWM');
    const fit = stated(name, precision, kvBytes) / MIB;
    return [
      `${name} ${precision}`,
      `${memory(child.pid, 'VmRSS').toFixed(0)} MiB`,
      `${ready.toFixed(0)} MiB`,
      `${(kvBytes / MIB).toFixed(0)} MiB`,
      `${memory(engine, 'VmHWM').toFixed(0)} MiB`,
      `${most.toFixed(0)} MiB`,
      `${fit.toFixed(0)} MiB`,
      `${(100 * (fit / most - 1)).toFixed(1)}%`,
      one.toFixed(0),
      all.toFixed(0),
    ];
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const rows: string[][] = [];
for (const each of values.cases === 'none' ? [] : values.cases.split(',')) {
  const [name = '', precision = 'auto'] = each.split(':');
  const shape = SHAPES[name];
  if (name !== 'summit' && shape === undefined) {
    throw new Error(`--cases: ${name} is not summit or one of ${Object.keys(SHAPES).join(', ')}`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'sizing-'));
  try {
    if (shape !== undefined) {
      await writeMadeUpCheckpoint(folder, shape);
      const { vocabSize } = parseDecoderConfig(shape, name);
      await writeTokenizer(folder, await paddedTokenizer(vocabSize));
    }
    rows.push(await measure(name, shape === undefined ? null : folder, precision));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
if (rows.length > 0) {
  console.log(`\n${machineShape()}\n`);
  printTable(
    [
      'model',
      'front',
      'engine, ready',
      'KV cache',
      'engine, at most',
      'together',
      'fit says',
      'which is off by',
      'tokens/s, 1 stream',
      `${numStreams} streams`,
    ],
    rows,
  );
}
