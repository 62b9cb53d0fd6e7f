/**
 * How near decode steps and prompts come to what this machine can do: memory bandwidth and peak rates of
 * matrix products are measured, the bytes that a run must move and the operations that it must do
 * are counted, and the larger of the two times is divided by the measured run's. Random weights of a
 * known shape.
 *
 *   npx tsx scripts/bench/roofline.ts [--shape smollm2-135m] [--rows 1,16,32] [--tokens 128,512]
 *     [--precisions fp32,int8,int4] [--kernels auto] [--kv-cache-dtype int8] [--steps 20] [--threads 2] [--json]
 *
 * int8 and int4 run on our own kernels, unless `--kernels onnxruntime`. They attend to a cache of int8 in products of
 * 16 bits, of which an instruction has half as many as of 8, and to others in float32.
 *
 * Bandwidth is that of reading the weights of a product with one row, 256 MiB of floats or 64 MiB of
 * bytes, whichever is read faster; the peak of 8-bit products is the best of those of int8 and int4, with
 * both sets of kernels, and of DynamicQuantizeMatMul.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRECISIONS, type Precision } from '../../src/model/manifest.ts';
import { nativeKernels } from '../../src/ort/native-kernels.ts';
import { requireShape } from './lib/known-shapes.ts';
import { machineShape } from './lib/machine.ts';
import { timeProduct } from './lib/product-timer.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { median, printTable } from './lib/table.ts';

const CONTEXT = 128;
const CAPACITY = 512;
const FLOAT_BYTES = 4;
/** Weights that are read for the memory's rate, in bytes: more than the third level of nearly any CPU's cache holds. */
const BANDWIDTH_BYTES = 2 ** 30;
const BANDWIDTH_FEATURES = 4096;
const PEAK_PRODUCT = { rows: 512, inFeatures: 2048, outFeatures: 4096 };

/** Bytes of a weight of linear layers, and of the vocabulary matrix: of a scale, each 64th part. */
function weightBytes(precision: Precision): readonly [linear: number, vocabulary: number] {
  if (precision === 'fp32') return [FLOAT_BYTES, FLOAT_BYTES];
  if (precision === 'fp16') return [2, 2];
  // A scale per row of weights is next to nothing.
  if (precision !== 'int4') return [1, 1];
  return isNative(precision) ? [0.5 + 2 / 64, 1] : [0.5 + FLOAT_BYTES / 64, 1 + FLOAT_BYTES / 64];
}

const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: 'smollm2-135m' },
    rows: { type: 'string', default: '1,16,32' },
    tokens: { type: 'string', default: '128,512' },
    precisions: { type: 'string', default: 'fp32,int8,int4' },
    kernels: { type: 'string', default: 'auto' },
    'kv-cache-dtype': { type: 'string', default: 'int8' },
    steps: { type: 'string', default: '20' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const SHAPE = requireShape(values.shape);
const threads = Number(values.threads);
const steps = Number(values.steps);
const kvCacheDtype = z.enum(['float32', 'float16', 'int8']).parse(values['kv-cache-dtype']);
const CACHE_BYTES = { float32: FLOAT_BYTES, float16: 2, int8: 1 };
const ownKernels = values.kernels === 'auto' && !('missing' in nativeKernels());
const numbers = (list: string) => list.split(',').filter(Boolean).map(Number);

const isNative = (precision: Precision) => ownKernels && precision.startsWith('int');

/** Rates of the machine, per second. */
interface Machine {
  readonly bytes: number;
  readonly floatOperations: number;
  readonly int8Operations: number;
}

/** One token of each row after a context, or a prompt. */
type Run = { readonly rows: number } | { readonly tokens: number };

interface Measurement {
  readonly precision: Precision;
  readonly run: Run;
  readonly megabytes: number;
  readonly gigaOperations: number;
  /** Milliseconds that the machine needs at least. */
  readonly memoryMs: number;
  readonly computeMs: number;
  /** Median, in milliseconds. */
  readonly runMs: number;
  readonly share: number;
}

/** Median milliseconds in which a product of one row reads BANDWIDTH_BYTES. */
function timeReading(kind: 'fp32' | 'native8', bytesEach: number): Promise<number> {
  const outFeatures = BANDWIDTH_BYTES / bytesEach / BANDWIDTH_FEATURES;
  return timeProduct(kind, { rows: 1, inFeatures: BANDWIDTH_FEATURES, outFeatures }, threads);
}

async function measureMachine(): Promise<Machine> {
  const readMs = [await timeReading('fp32', FLOAT_BYTES)];
  if (ownKernels) readMs.push(await timeReading('native8', 1));
  const { rows, inFeatures: depth, outFeatures: width } = PEAK_PRODUCT;
  const operations = 2 * rows * depth * width;
  const floatMs = await timeProduct('fp32', PEAK_PRODUCT, threads);
  const integerMs = [
    await timeProduct('int8', PEAK_PRODUCT, threads),
    await timeProduct('int4', PEAK_PRODUCT, threads),
    await timeProduct('per-tensor', PEAK_PRODUCT, threads),
  ];
  if (ownKernels) {
    integerMs.push(await timeProduct('native8', PEAK_PRODUCT, threads));
    integerMs.push(await timeProduct('native4', PEAK_PRODUCT, threads));
  }
  return {
    bytes: (BANDWIDTH_BYTES * 1000) / Math.min(...readMs),
    floatOperations: (operations * 1000) / floatMs,
    int8Operations: (operations * 1000) / Math.min(...integerMs),
  };
}

/** Bytes that a run must move, and operations that it must do, at least. A prompt's logits are those of its last token. */
function demandOf(precision: Precision, run: Run) {
  const { hidden_size: hidden, intermediate_size: inner, num_hidden_layers: layers } = SHAPE;
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: headDim } = SHAPE;
  const perLayer = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * inner;
  const linear = layers * perLayer;
  const vocabulary = SHAPE.vocab_size * hidden;
  const [linearBytes, vocabularyBytes] = weightBytes(precision);
  const [numTokens, numLogits, positions, pairs] =
    'rows' in run
      ? [run.rows, run.rows, run.rows * (CONTEXT + 1), run.rows * (CONTEXT + 1)]
      : [run.tokens, 1, run.tokens, (run.tokens * (run.tokens + 1)) / 2];
  const positionBytes =
    2 *
    layers *
    kvHeads *
    headDim *
    (isNative(precision) ? CACHE_BYTES[kvCacheDtype] : FLOAT_BYTES);
  const logitsBytes = numLogits * SHAPE.vocab_size * FLOAT_BYTES;
  const weights = linear * linearBytes + vocabulary * vocabularyBytes;
  return {
    bytes: weights + positions * positionBytes + logitsBytes,
    products: 2 * (numTokens * linear + numLogits * vocabulary),
    // Products of pairs of a query and a key, and of its weight and the value.
    attention: 4 * pairs * layers * heads * headDim,
  };
}

async function measure(precision: Precision, run: Run, machine: Machine): Promise<Measurement> {
  const model = await prepareModel(
    { kind: 'random', config: SHAPE, seed: 1 },
    {
      precision,
      cacheDirectory: defaultCacheDirectory(),
      ...(isNative(precision) && { nativeKernels: { kvCacheDtype } }),
    },
  );
  const rows = 'rows' in run ? run.rows : 1;
  const context = 'rows' in run ? CONTEXT : run.tokens;
  const decoder = new RawDecoder(model, rows, context + CAPACITY, context, threads);
  const times: number[] = [];
  for (let step = -5; step < steps; step++) {
    const start = performance.now();
    if ('rows' in run) decoder.step();
    else decoder.prefill();
    if (step >= 0) times.push(performance.now() - start);
  }
  decoder.release();
  const { bytes, products, attention } = demandOf(precision, run);
  const productRate = precision.startsWith('int')
    ? machine.int8Operations
    : machine.floatOperations;
  const memoryMs = (bytes * 1000) / machine.bytes;
  const hasIntegers = isNative(precision) && kvCacheDtype === 'int8';
  const attentionRate = hasIntegers ? machine.int8Operations / 2 : machine.floatOperations;
  const computeMs = 1000 * (products / productRate + attention / attentionRate);
  const runMs = median(times);
  return {
    precision,
    run,
    megabytes: bytes / 1e6,
    gigaOperations: (products + attention) / 1e9,
    memoryMs,
    computeMs,
    runMs,
    share: Math.max(memoryMs, computeMs) / runMs,
  };
}

const machine = await measureMachine();
const measurements: Measurement[] = [];
for (const name of values.precisions.split(',')) {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  const runs: Run[] = [
    ...numbers(values.rows).map((rows) => ({ rows })),
    ...numbers(values.tokens).map((tokens) => ({ tokens })),
  ];
  for (const run of runs) measurements.push(await measure(precision, run, machine));
}

if (values.json) {
  console.log(JSON.stringify({ shape: machineShape(), threads, machine, measurements }));
} else {
  const giga = (rate: number) => (rate / 1e9).toFixed(0);
  const kernels = ownKernels ? 'our own kernels in int8 and int4' : "ONNX Runtime's kernels";
  console.log(
    `${machineShape()}; ${values.shape}, ${threads} threads, ${kernels}, context ${CONTEXT}, medians`,
  );
  console.log(
    `memory ${giga(machine.bytes)} GB/s, fp32 ${giga(machine.floatOperations)} GFLOP/s, ` +
      `int8 ${giga(machine.int8Operations)} GOP/s\n`,
  );
  printTable(
    ['precision', 'run', 'MB', 'GOP', 'memory ms', 'compute ms', 'run ms', 'of the roofline'],
    measurements.map((m) => [
      m.precision,
      'rows' in m.run ? `${m.run.rows} rows` : `prompt of ${m.run.tokens}`,
      m.megabytes.toFixed(0),
      m.gigaOperations.toFixed(2),
      m.memoryMs.toFixed(1),
      m.computeMs.toFixed(1),
      m.runMs.toFixed(1),
      `${(m.share * 100).toFixed(0)}%`,
    ]),
  );
}
