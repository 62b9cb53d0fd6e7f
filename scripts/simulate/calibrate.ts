/**
 * Measures what steps cost on this machine and fits the simulator's linear costs to them.
 *
 *   npx tsx scripts/simulate/calibrate.ts [--preset smollm2-135m] [--precision fp32] [--rounds 8] [--threads 2]
 *
 * Every configuration is run once a round and its fastest time counts: what disturbs a run makes it
 * slower and never faster. Prints the measured and the fitted times, and the costs as JSON.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { decodeFeatures, prefillFeatures } from '../../src/engine/costs/cost-model.ts';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { OnlineRegression } from '../../src/engine/costs/online-regression.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import type { CacheOperation } from '../../src/engine/cache-operation.ts';
import { type Segment, segmentOf, type StepPlan } from '../../src/engine/step.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRECISIONS } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { machineShape } from '../bench/lib/machine.ts';
import { printTable } from '../bench/lib/table.ts';

const ROWS = [1, 2, 4, 8, 16, 32];
const DECODE_POSITIONS = [64, 512, 1024];
const CHUNKS = [4, 8, 16, 64, 128, 256, 512];
const CHUNK_STARTS = [0, 512, 1024];
const NUM_ROWS = Math.max(...ROWS);
const MODEL_LEN = 2048;
const COPIED_TOKENS = 1024;
/** How often the samples are given to the fit, which starts from a guess that then fades. */
const FIT_PASSES = 20;

const { values } = parseArgs({
  options: {
    preset: { type: 'string', default: 'smollm2-135m' },
    precision: { type: 'string', default: 'fp32' },
    rounds: { type: 'string', default: '8' },
    threads: { type: 'string', default: String(availableParallelism()) },
  },
});
const preset = z.enum(['smollm2-135m', 'tiny']).parse(values.preset);
const precision = z.enum(PRECISIONS).parse(values.precision);
const rounds = Number(values.rounds);

const model = await prepareModel(
  { kind: 'random', config: PRESETS[preset], seed: 1 },
  { precision, cacheDirectory: defaultCacheDirectory() },
);
const decoder = new CpuDecoder(model, {
  numSlots: NUM_ROWS,
  maxModelLen: MODEL_LEN,
  session: { intraOpThreads: Number(values.threads) },
});

interface Sample {
  readonly kind: 'decode' | 'prefill';
  /** Rows of a decode run, tokens of a prefill run. */
  readonly size: number;
  readonly position: number;
  readonly features: readonly number[];
  readonly plan: StepPlan;
  bestMs: number;
}

const promptTokenIds = Int32Array.from({ length: MODEL_LEN }, (_, index) => 3 + (index % 200));
const sequences = Array.from({ length: NUM_ROWS }, (_, row) => {
  const sequence = new Sequence(engineRequest({ id: row, promptTokenIds }));
  sequence.slot = row;
  return sequence;
});
const [firstSequence] = sequences;
if (!firstSequence) throw new Error('there are no rows');

/** A token whose logits are wanted, wherever it is. */
function decodingAt(sequence: Sequence, position: number): Segment {
  return { ...segmentOf(sequence, 1, position), numLogits: 1 };
}

function decodeSample(rows: number, position: number): Sample {
  const segments = sequences.slice(0, rows).map((sequence) => decodingAt(sequence, position));
  const plan = { cacheOperations: [], segments };
  const features = decodeFeatures(segments);
  return { kind: 'decode', size: rows, position, features, plan, bestMs: Infinity };
}

function prefillSample(sequence: Sequence, length: number, start: number): Sample {
  const plan = { cacheOperations: [], segments: [segmentOf(sequence, length, start)] };
  const features = prefillFeatures([{ start, length }]);
  return { kind: 'prefill', size: length, position: start, features, plan, bestMs: Infinity };
}

function fit(samples: readonly Sample[], guess: readonly number[]): number[] {
  const costs = new OnlineRegression(guess);
  for (let pass = 0; pass < FIT_PASSES; pass++) {
    // Divided by the time, so that short runs count as much as long ones.
    for (const { features, bestMs } of samples) {
      costs.add(
        features.map((feature) => feature / bestMs),
        1,
      );
    }
  }
  return guess.map((_, index) => costs.predict(guess.map((_unused, at) => (at === index ? 1 : 0))));
}

/** Fills every row: memory that was never written would be read from one and the same page. */
function fillRows(sequence: Sequence): void {
  for (let start = 0; start < COPIED_TOKENS * 2 - 512; start += 512) {
    decoder.execute(prefillSample(sequence, 512, start).plan);
  }
  const length = COPIED_TOKENS + 512;
  rearrange(
    sequences.slice(1).map((_, index) => ({ type: 'copy', from: 0, to: index + 1, length })),
  );
}

function rearrange(cacheOperations: readonly CacheOperation[]): void {
  decoder.execute({ cacheOperations, segments: [] });
}

function copyMsPerToken(): number {
  let best = Infinity;
  for (let row = 1; row < NUM_ROWS; row++) {
    const start = performance.now();
    rearrange([{ type: 'copy', from: row - 1, to: row, length: COPIED_TOKENS }]);
    best = Math.min(best, performance.now() - start);
  }
  return best / COPIED_TOKENS;
}

fillRows(firstSequence);
const samples = [
  ...ROWS.flatMap((rows) => DECODE_POSITIONS.map((position) => decodeSample(rows, position))),
  ...CHUNKS.flatMap((length) =>
    CHUNK_STARTS.map((start) => prefillSample(firstSequence, length, start)),
  ),
];
for (let round = 0; round < rounds; round++) {
  for (const sample of samples) {
    const { failures, timedRuns } = decoder.execute(sample.plan);
    if (failures[0]) throw new Error(failures[0].message);
    const ms = timedRuns.reduce((sum, run) => sum + run.ms, 0);
    sample.bestMs = Math.min(sample.bestMs, ms);
  }
}
const decode = fit(
  samples.filter(({ kind }) => kind === 'decode'),
  [10, 1, 0.001],
);
const prefill = fit(
  samples.filter(({ kind }) => kind === 'prefill'),
  [10, 0.5, 0.0001, 0.001],
);
const perCopiedToken = copyMsPerToken();
decoder.release();

console.log(`${preset} ${precision} on ${machineShape()}, ${values.threads} threads\n`);
printTable(
  ['run', 'rows or tokens', 'position', 'ms', 'fitted ms'],
  samples.map(({ kind, size, position, bestMs, features }) => {
    const weights = kind === 'decode' ? decode : prefill;
    const fitted = features.reduce((sum, x, index) => sum + x * (weights[index] ?? 0), 0);
    return [kind, String(size), String(position), bestMs.toFixed(1), fitted.toFixed(1)];
  }),
);
console.log(`\n${JSON.stringify({ decode, prefill, perCopiedToken })}`);
