/**
 * Decode steps of the SmolLM2-135M shape (random weights, fp32): our binding with the KV cache
 * appended to in place, compared with onnxruntime-node's `run(feeds, fetches)` over the same graph.
 *
 *   npm run bench:decoder -- [--rows 1,16] [--capacities 512,2048] [--rounds 5] [--threads 2] [--json]
 *
 * Both run in one process and take turns, so that a noisy machine slows both alike. Medians.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { machineShape } from './lib/machine.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { RunLoop } from './lib/run-loop.ts';
import { median, printTable } from './lib/table.ts';

const CONTEXT = 128;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1,2,4,8,16,32' },
    capacities: { type: 'string', default: '512,2048' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const threads = Number(values.threads);

interface Measurement {
  readonly rows: number;
  readonly capacity: number;
  /** Medians, in milliseconds. */
  readonly ioBindingStepMs: number;
  readonly runStepMs: number;
  readonly ratio: number;
  readonly tokensPerSecond: number;
}

const model = await prepareModel(
  { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 },
  { precision: 'fp32', cacheDirectory: defaultCacheDirectory() },
);

async function timed(action: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

async function measure(rows: number, capacity: number): Promise<Measurement> {
  const ours = new RawDecoder(model, rows, capacity, CONTEXT, threads);
  const theirs = await RunLoop.open(model, rows, capacity, threads);
  const [ourTimes, theirTimes]: [number[], number[]] = [[], []];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (let step = 0; step < 5; step++) {
      const ms = await timed(() => void ours.step());
      if (round > 0) ourTimes.push(ms);
    }
    const ms = await timed(() => theirs.step(CONTEXT));
    if (round > 0) theirTimes.push(ms);
  }
  ours.release();
  await theirs.release();
  const [ioBindingStepMs, runStepMs] = [median(ourTimes), median(theirTimes)];
  return {
    rows,
    capacity,
    ioBindingStepMs,
    runStepMs,
    ratio: runStepMs / ioBindingStepMs,
    tokensPerSecond: (rows * 1000) / ioBindingStepMs,
  };
}

const measurements: Measurement[] = [];
for (const rows of values.rows.split(',').map(Number)) {
  for (const capacity of values.capacities.split(',').map(Number)) {
    measurements.push(await measure(rows, capacity));
  }
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), threads, context: CONTEXT, measurements }));
} else {
  console.log(
    `${machineShape()}; ${threads} threads, context ${CONTEXT}, medians of ${rounds} rounds\n`,
  );
  printTable(
    ['rows', 'capacity', 'IoBinding ms/step', 'steps/s', 'tokens/s', 'run() ms/step', 'ratio'],
    measurements.map((m) => [
      String(m.rows),
      String(m.capacity),
      m.ioBindingStepMs.toFixed(1),
      (1000 / m.ioBindingStepMs).toFixed(1),
      m.tokensPerSecond.toFixed(0),
      m.runStepMs.toFixed(1),
      `${m.ratio.toFixed(1)}x`,
    ]),
  );
}
