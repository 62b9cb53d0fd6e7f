/**
 * Cost of the step stream (/admin/steps), unwatched and watched, each next to the other in one run:
 *
 *   npx tsx scripts/bench/step-stream.ts [--rounds 15] [--streams 1,8,32] [--watchers 1,16]
 *
 * First what a step of the engine takes besides the model, over a decoder that computes nothing: planning,
 * commit, and the message as it is written for the front. That is exact, and the difference is the tap's.
 * Then tokens per second of a real server with the embedded model, whose steps are short; what is told
 * is read by clients of their own process, on the same cores.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serialize } from 'node:v8';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { toStepMessage } from '../../src/engine/process/step-message.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import type { Decoder } from '../../src/engine/step.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { machineShape } from './lib/machine.ts';
import { startServer } from './lib/server-process.ts';
import { median, printTable } from './lib/table.ts';

const STEPS_PER_ROUND = 200;
const TOKENS_PER_STREAM = 150;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    streams: { type: 'string', default: '1,8,32' },
    watchers: { type: 'string', default: '1,16' },
  },
});
const rounds = Number(values.rounds);
const numStreams = values.streams.split(',').map(Number);
const numWatchers = values.watchers.split(',').map(Number);

/** All go on with the same token. */
const decoder: Decoder = {
  execute({ segments }) {
    const spans = segments.map(({ start, numTokens: length }) => ({ start, length }));
    const logits = segments
      .filter(({ numLogits }) => numLogits > 0)
      .map((segment) => ({ segment, logits: [new Float32Array(1)], best: [0] }));
    return { logits, failures: [], timedRuns: [{ decode: spans, prefill: [], verify: [], ms: 1 }] };
  },
  release() {},
};

/** An engine in which so many sequences decode. */
function openEngine(numRows: number): Engine {
  const capacity = 2 ** 20;
  const kvCache = new SlotCache({ numSlots: 2 * numRows, capacity, pageLength: 256 });
  const costs = new CostModel();
  const engine = new Engine({
    kvCache,
    costs,
    decoder,
    sampler: new Sampler(1),
    scheduler: new Scheduler(kvCache, costs, {
      maxNumSeqs: numRows,
      maxNumBatchedTokens: 64 * numRows,
      targetItlMs: null,
    }),
  });
  for (let id = 1; id <= numRows; id++) engine.add(engineRequest({ id, maxTokens: capacity / 2 }));
  return engine;
}

/** Microseconds of CPU time of a step and its message: what else the machine does hardly counts. */
function timeSteps(engine: Engine, every: number | null): number {
  engine.watch(every);
  const before = process.cpuUsage();
  for (let step = 0; step < STEPS_PER_ROUND; step++) {
    serialize(toStepMessage(engine.step(), engine.stats, engine.takeRecord()));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / STEPS_PER_ROUND;
}

function measureTap(numRows: number): string[] {
  const engine = openEngine(numRows);
  const times = { unwatched: [] as number[], watched: [] as number[] };
  // The first rounds warm up.
  for (let round = -3; round < rounds; round++) {
    const [unwatched, watched] = [timeSteps(engine, null), timeSteps(engine, 1)];
    if (round < 0) continue;
    times.unwatched.push(unwatched);
    times.watched.push(watched);
  }
  const [unwatched, watched] = [median(times.unwatched), median(times.watched)];
  const more = watched - unwatched;
  // Share of a step of 10 ms, in percent.
  const share = (more / 10_000) * 100;
  return [
    String(numRows),
    unwatched.toFixed(0),
    watched.toFixed(0),
    more.toFixed(0),
    `${share.toFixed(2)}%`,
  ];
}

/** Reads the stream in another process, as browsers would. */
async function watch(url: string, count: number): Promise<ChildProcess | null> {
  if (count === 0) return null;
  const reader = fileURLToPath(new URL('./lib/stream-reader.mjs', import.meta.url));
  const child = fork(reader, [`${url}/admin/steps`, String(count)], { execArgv: [] });
  await once(child, 'message');
  return child;
}

async function tokensPerSecond(url: string, streams: number): Promise<number> {
  const body = JSON.stringify({
    prompt: 'Once upon a time',
    max_tokens: TOKENS_PER_STREAM,
    ignore_eos: true,
    stream: true,
  });
  const headers = { 'content-type': 'application/json' };
  const startedAt = performance.now();
  const answers = Array.from({ length: streams }, async () => {
    const response = await fetch(`${url}/v1/completions`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(await response.text());
    await response.text();
  });
  await Promise.all(answers);
  return (streams * TOKENS_PER_STREAM * 1000) / (performance.now() - startedAt);
}

async function measureServer(): Promise<string[][]> {
  const most = Math.max(...numStreams);
  const server = await startServer([`--max-num-seqs=${most}`]);
  const rows: string[][] = [];
  try {
    for (const streams of numStreams) {
      const counts = [0, ...numWatchers];
      const rates = counts.map((): number[] => []);
      for (let round = -1; round < rounds; round++) {
        for (const [index, count] of counts.entries()) {
          const watching = await watch(server.url, count);
          const rate = await tokensPerSecond(server.url, streams);
          if (round >= 0) rates[index]?.push(rate);
          if (watching === null) continue;
          const left = once(watching, 'exit');
          watching.kill();
          await left;
        }
      }
      const middles = rates.map(median);
      const base = middles[0] ?? NaN;
      const cells = middles
        .slice(1)
        .map((rate) => `${rate.toFixed(0)} (${(rate / base).toFixed(3)}x)`);
      rows.push([String(streams), base.toFixed(0), ...cells]);
    }
  } finally {
    await server.close();
  }
  return rows;
}

console.log(`${machineShape()}; medians of ${rounds} rounds, in turn\n`);
printTable(
  ['rows', 'unwatched, us of CPU a step', 'watched', 'more', 'of a step of 10 ms'],
  [1, 8, 32, 128, 512].map(measureTap),
);
console.log();
printTable(
  ['streams', 'unwatched, tokens/s', ...numWatchers.map((count) => `watched by ${count}`)],
  await measureServer(),
);
