/**
 * Decode steps and prefill of the SmolLM2-135M shape (random weights) with a KV cache of float32, one
 * of int8, whose scales are calibrated when the model is built, and one of float32 in the shared
 * memory that `--durable-kv` keeps it in (Linux only). With `--kernels native`, of each number format with our own.
 *
 *   npx tsx scripts/bench/kv-cache.ts [--rows 16] [--contexts 130,800] [--precision int8]
 *     [--kernels native] [--rounds 12] [--threads 2] [--json]
 *
 * All run in one process and take turns, so that a noisy machine slows all alike. Medians; ratios are
 * the first cache's time over the other's.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { KERNEL_SETS, KV_CACHE_DTYPES, PRECISIONS } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { machineShape } from './lib/machine.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { median, printTable } from './lib/table.ts';

const STEPS_PER_ROUND = 4;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '16' },
    contexts: { type: 'string', default: '130,800' },
    precision: { type: 'string', default: 'int8' },
    kernels: { type: 'string', default: 'onnxruntime' },
    rounds: { type: 'string', default: '12' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const rows = Number(values.rows);
const threads = Number(values.threads);
const source = { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 } as const;
const precision = z.enum(PRECISIONS).parse(values.precision);
const options = { precision, cacheDirectory: defaultCacheDirectory() };
async function runtimeVariants() {
  const float32 = await prepareModel(source, options);
  const int8 = await prepareModel(source, { ...options, calibrateKv });
  return [
    { name: 'float32', model: float32, durable: false },
    { name: 'int8', model: int8, durable: false },
    { name: 'durable', model: float32, durable: true },
  ];
}

function nativeVariants() {
  return Promise.all(
    KV_CACHE_DTYPES.map(async (name) => {
      const model = await prepareModel(source, {
        ...options,
        nativeKernels: { kvCacheDtype: name },
      });
      return { name, model, durable: false };
    }),
  );
}

const isNative = z.enum(KERNEL_SETS).parse(values.kernels) === 'native';
const variants = await (isNative ? nativeVariants() : runtimeVariants());

interface Measurement {
  readonly context: number;
  /** Medians in milliseconds, by variant. */
  readonly stepMs: readonly number[];
  /** Milliseconds of all rows, one whole prompt after the other. */
  readonly prefillMs: readonly number[];
}

function measure(context: number): Measurement {
  const decoders = variants.map(({ model, durable }) => {
    const decoder = new RawDecoder(model, rows, context + 2, context, threads, durable);
    const times: number[] = [];
    return { decoder, times };
  });
  // The first round warms up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const { decoder, times } of decoders) {
      for (let step = 0; step < STEPS_PER_ROUND; step++) {
        const start = performance.now();
        decoder.step();
        if (round > 0) times.push(performance.now() - start);
      }
    }
  }
  for (const { decoder } of decoders) decoder.release();
  return {
    context,
    stepMs: decoders.map(({ times }) => median(times)),
    prefillMs: decoders.map(({ decoder }) => decoder.prefillMs),
  };
}

const measurements = values.contexts.split(',').map((context) => measure(Number(context)));
if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), threads, rows, precision, measurements }));
} else {
  console.log(`${machineShape()}; ${threads} threads, ${rows} rows, weights in ${precision}\n`);
  const ratios = ([first = NaN, ...others]: readonly number[]) =>
    others.map((ms) => `${(first / ms).toFixed(2)}x`);
  const [, ...others] = variants.map(({ name }) => name);
  printTable(
    [
      'context',
      ...variants.map(({ name }) => `${name} ms/step`),
      ...others,
      ...others.map((name) => `prefill, ${name}`),
    ],
    measurements.map(({ context, stepMs, prefillMs }) => [
      String(context),
      ...stepMs.map((ms) => ms.toFixed(1)),
      ...ratios(stepMs),
      ...ratios(prefillMs),
    ]),
  );
}
