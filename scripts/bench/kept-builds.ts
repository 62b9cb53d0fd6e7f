/**
 * Time that a kept build saves at a start: from a server's process to its being ready, with an empty cache folder
 * and with what that start has left there. Cases take turns. The CPU time is that of the server and its
 * engine until then, which other work on the machine changes less.
 *
 *   npm run build && npx tsx scripts/bench/kept-builds.ts [--rounds 5]
 *     [--cases models/summit:int8,smollm2-135m:int8]
 *
 * A shape is taken with random weights.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseVariant } from '../../src/eval/compare/variant.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { childrenOf } from '../../test/support/processes.ts';
import { cpuSeconds } from './lib/process-time.ts';
import { addressOf } from './lib/server-address.ts';
import { median, printTable } from './lib/table.ts';

const CASES =
  'models/summit:fp32,models/summit:int8,models/summit:int4,smollm2-135m:int8,smollm2-135m:int4';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    cases: { type: 'string', default: CASES },
  },
});

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Until it is ready: nothing is generated, so there are no drafts to turn off. */
async function start(name: string, cache: string): Promise<Start> {
  const { model, precision } = parseVariant(name);
  const shape = model in PRESETS ? ['--random-weights', '1'] : [];
  const args = ['serve', '--port=0', '--log-level=warn', '--model', model, ...shape];
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args, '--precision', precision], {
    env: { ...process.env, CHAIRLIFT_CACHE: cache },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    await addressOf(child);
    const ms = performance.now() - startedAt;
    const pids = [child.pid ?? 0, ...childrenOf(child.pid)];
    const seconds = await Promise.all(pids.map((pid) => cpuSeconds(pid)));
    return { ms, cpuMs: 1000 * seconds.reduce((sum, each) => sum + each, 0) };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const starts = values.cases.split(',').map((name) => ({
  name,
  empty: [] as Start[],
  kept: [] as Start[],
}));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { name, empty, kept } of starts) {
    const cache = await mkdtemp(join(tmpdir(), 'kept-builds-'));
    try {
      empty.push(await start(name, cache));
      kept.push(await start(name, cache));
    } finally {
      await rm(cache, { recursive: true, force: true });
    }
  }
}
printTable(
  ['model', 'ready ms, empty', 'kept', 'CPU ms, empty', 'kept'],
  starts.map(({ name, empty, kept }) => {
    const of = (all: readonly Start[], value: (one: Start) => number) =>
      median(all.map(value)).toFixed(0);
    const columns = [({ ms }: Start) => ms, ({ cpuMs }: Start) => cpuMs];
    return [name, ...columns.flatMap((value) => [of(empty, value), of(kept, value)])];
  }),
);
