/**
 * Gain of dynamic batching for a text encoder: texts one by one, in batches of a fixed window, and as
 * the server does it by default, over the same process and the same texts.
 *
 *   npx tsx scripts/bench/batching.ts --model FOLDER [--precision fp32] [--clients 32] [--seconds 8]
 *     [--rounds 2] [--tokens 32] [--window-ms 10] [--threads 1] [--json]
 *
 * FOLDER is one that sentence-transformers can load, such as all-MiniLM-L6-v2's. Texts are made-up
 * tokens; their lengths are log-normally distributed around --tokens, up to 256. Closed loop: each of
 * the clients asks anew as soon as it is answered. Open loop: texts come by themselves (Poisson), at
 * half and at nine tenths of what the server's default did in the closed loop. Latencies include the
 * wait; CPU time is that of the model's process (Linux). Ways take turns, round by round; the table has
 * the medians.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { arrivalTimes } from '../../src/bench/arrivals.ts';
import { Random } from '../../src/bench/random.ts';
import { summarize } from '../../src/bench/statistics.ts';
import type { EncoderInput } from '../../src/encoder/process/protocol.ts';
import type { BatcherOptions } from '../../src/front/batching/batcher-options.ts';
import { TEXT_BATCHING } from '../../src/front/batching/default-batching.ts';
import { DynamicBatcher } from '../../src/front/batching/dynamic-batcher.ts';
import {
  EncoderClient,
  type EncoderOutput,
} from '../../src/front/encoder-process/encoder-client.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { machineShape } from './lib/machine.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    precision: { type: 'string', default: 'fp32' },
    clients: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '32' },
    'window-ms': { type: 'string', default: '10' },
    threads: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const numClients = Number(values.clients);
const durationMs = Number(values.seconds) * 1000;

const MAX_TOKENS = 256;
const NUM_TEXTS = 1024;
const FIRST_WORD = 2000;
const NUM_WORDS = 20_000;
const RUN_TIMEOUT_MS = 60_000;

type Batcher = DynamicBatcher<EncoderInput, EncoderOutput>;

interface Load {
  /** Answers per second. */
  readonly rate: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Milliseconds of the model's process for a text. */
  readonly cpuMs: number;
  readonly meanBatch: number;
  /** Share of all that was computed. */
  readonly padding: number;
}

const WAYS: Readonly<Record<string, BatcherOptions>> = {
  'no batching': { ...TEXT_BATCHING, maxBatchSize: 1 },
  'fixed window': {
    ...TEXT_BATCHING,
    maxBatchSize: 32,
    maxQueueDelayMs: Number(values['window-ms']),
    maxBatchTokens: null,
  },
  chairlift: TEXT_BATCHING,
};

function madeUpTexts(): Int32Array[] {
  const random = new Random(1);
  return Array.from({ length: NUM_TEXTS }, () => {
    const length = Math.round(Number(values.tokens) * Math.exp(0.8 * random.normal()));
    return Int32Array.from({ length: Math.max(3, Math.min(length, MAX_TOKENS)) }, () =>
      random.integer(FIRST_WORD, FIRST_WORD + NUM_WORDS),
    );
  });
}

const texts = madeUpTexts();

async function embed(batcher: Batcher, index: number): Promise<number> {
  const ids = texts[index % texts.length] ?? new Int32Array();
  const input = { type: 'tokens', ids, secondStart: ids.length } as const;
  const request = { input, rows: 1, tokens: ids.length, bytes: ids.byteLength, shape: '' };
  const start = performance.now();
  await batcher.submit([request], { client: '', signal: new AbortController().signal });
  return performance.now() - start;
}

async function closedLoop(batcher: Batcher): Promise<number[]> {
  const end = performance.now() + durationMs;
  const latencies: number[] = [];
  let next = 0;
  const client = async () => {
    while (performance.now() < end) latencies.push(await embed(batcher, next++));
  };
  await Promise.all(Array.from({ length: numClients }, client));
  return latencies;
}

async function openLoop(batcher: Batcher, rate: number): Promise<number[]> {
  const count = Math.ceil((rate * durationMs) / 1000);
  const due = arrivalTimes(count, { rate, burstiness: 1 }, new Random(2));
  const start = performance.now();
  const answers = due.map(async (at, index) => {
    await sleep(at - (performance.now() - start));
    return await embed(batcher, index);
  });
  return await Promise.all(answers);
}

async function measure(
  client: EncoderClient,
  way: BatcherOptions,
  load: (batcher: Batcher) => Promise<number[]>,
): Promise<Load> {
  const batcher: Batcher = new DynamicBatcher(way, (inputs) => client.run(inputs));
  const start = performance.now();
  const cpuBefore = cpuMsOf(client.pid);
  const latencies = await load(batcher);
  const cpuMs = cpuMsOf(client.pid) - cpuBefore;
  const seconds = (performance.now() - start) / 1000;
  const { percentiles } = summarize(latencies, [50, 99]);
  const { numRows, numBatches, numTokens, numPaddedTokens } = batcher.stats;
  return {
    rate: latencies.length / seconds,
    p50: percentiles.get(50) ?? 0,
    p99: percentiles.get(99) ?? 0,
    cpuMs: cpuMs / latencies.length,
    meanBatch: numRows / numBatches,
    padding: 1 - numTokens / numPaddedTokens,
  };
}

/** CPU time of a process since its start; NaN where the system does not tell. */
function cpuMsOf(pid: number | undefined): number {
  if (process.platform !== 'linux') return NaN;
  // Behind the name, which may have spaces: user and system time, in hundredths of a second.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function medianLoad(loads: readonly Load[]): Load {
  const of = (key: keyof Load) => median(loads.map((load) => load[key]));
  return {
    rate: of('rate'),
    p50: of('p50'),
    p99: of('p99'),
    cpuMs: of('cpuMs'),
    meanBatch: of('meanBatch'),
    padding: of('padding'),
  };
}

async function main(): Promise<void> {
  const { model, precision } = values;
  if (model === undefined) throw new Error('--model FOLDER is missing');
  if (precision !== 'fp32' && precision !== 'int8') throw new Error('--precision fp32 or int8');
  const client = new EncoderClient({ runTimeoutMs: RUN_TIMEOUT_MS });
  const cacheDirectory = defaultCacheDirectory();
  await client.start({
    source: { type: 'text', folder: model, precision, cacheDirectory },
    threads: Number(values.threads),
  });
  const rounds = Number(values.rounds);
  const results: Record<string, Record<string, Load>> = {};
  const compare = async (name: string, load: (batcher: Batcher) => Promise<number[]>) => {
    const loads: Record<string, Load[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const [way, options] of Object.entries(WAYS)) {
        (loads[way] ??= []).push(await measure(client, options, load));
      }
    }
    const medians = Object.entries(loads).map(([way, each]) => [way, medianLoad(each)] as const);
    results[name] = Object.fromEntries(medians);
    return results[name];
  };
  const closed = await compare(`closed loop, ${numClients} clients`, closedLoop);
  for (const share of [0.5, 0.9]) {
    const rate = share * (closed['chairlift']?.rate ?? 0);
    const name = `open loop, ${rate.toFixed(0)} texts/s`;
    await compare(name, (batcher) => openLoop(batcher, rate));
  }
  await client.stop();
  if (values.json) console.log(JSON.stringify({ machine: machineShape(), precision, results }));
  else print(results);
}

function print(results: Readonly<Record<string, Readonly<Record<string, Load>>>>): void {
  const header = [
    'load',
    'way',
    'embeddings/s',
    'p50 ms',
    'p99 ms',
    'CPU ms/text',
    'texts per batch',
    'padding',
  ];
  const rows = Object.entries(results).flatMap(([load, ways]) =>
    Object.entries(ways).map(([way, { rate, p50, p99, cpuMs, meanBatch, padding }]) => [
      load,
      way,
      rate.toFixed(0),
      p50.toFixed(0),
      p99.toFixed(0),
      cpuMs.toFixed(1),
      meanBatch.toFixed(1),
      `${(100 * padding).toFixed(0)}%`,
    ]),
  );
  printTable(header, rows);
}

await main();
