/**
 * How near a decode step comes to what this machine can do: memory bandwidth and peak rates of
 * matrix products are measured, the bytes that a step must move and the operations that it must do
 * are counted, and the larger of the two times is divided by the measured step's. SmolLM2-135M shape
 * (random weights).
 *
 *   npx tsx scripts/bench/roofline.ts [--rows 1,16,32] [--precisions fp32,int8,int4] [--steps 20]
 *     [--threads 2] [--json]
 *
 * Bandwidth is that of reading the weights of a product with one row, 256 MiB of them; the peak of
 * 8-bit products is the best of those of int8, of int4 (MatMulNBits, accuracy level 4) and of
 * DynamicQuantizeMatMul.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/build/cache-directory.ts';
import { PRECISIONS, type Precision } from '../../src/model/build/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { machineShape } from './lib/machine.ts';
import { timeProduct } from './lib/product-timer.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { median, printTable } from './lib/table.ts';

const SHAPE = PRESETS['smollm2-135m'];
const CONTEXT = 128;
const CAPACITY = 512;
const FLOAT_BYTES = 4;
/** Of a weight in blocks of 64 with a scale each. */
const SCALE_BYTES = FLOAT_BYTES / 64;
const BANDWIDTH_PRODUCT = { rows: 1, inFeatures: 4096, outFeatures: 16_384 };
const PEAK_PRODUCT = { rows: 512, inFeatures: 2048, outFeatures: 4096 };

/** Bytes of a weight of linear layers, and of the vocabulary matrix. */
const WEIGHT_BYTES: Readonly<Record<Precision, readonly [linear: number, vocabulary: number]>> = {
  fp32: [FLOAT_BYTES, FLOAT_BYTES],
  fp16: [2, 2],
  // A scale per row of weights is next to nothing.
  int8: [1, 1],
  'int8-static': [1, 1],
  int4: [0.5 + SCALE_BYTES, 1 + SCALE_BYTES],
};

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1,16,32' },
    precisions: { type: 'string', default: 'fp32,int8,int4' },
    steps: { type: 'string', default: '20' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const threads = Number(values.threads);
const steps = Number(values.steps);

/** Rates of the machine, per second. */
interface Machine {
  readonly bytes: number;
  readonly floatOperations: number;
  readonly int8Operations: number;
}

interface Measurement {
  readonly precision: Precision;
  readonly rows: number;
  readonly megabytes: number;
  readonly gigaOperations: number;
  /** Milliseconds that the machine needs at least. */
  readonly memoryMs: number;
  readonly computeMs: number;
  /** Median, in milliseconds. */
  readonly stepMs: number;
  readonly share: number;
}

async function measureMachine(): Promise<Machine> {
  const { inFeatures, outFeatures } = BANDWIDTH_PRODUCT;
  const readMs = await timeProduct('fp32', BANDWIDTH_PRODUCT, threads);
  const { rows, inFeatures: depth, outFeatures: width } = PEAK_PRODUCT;
  const operations = 2 * rows * depth * width;
  const floatMs = await timeProduct('fp32', PEAK_PRODUCT, threads);
  const integerMs = [
    await timeProduct('int8', PEAK_PRODUCT, threads),
    await timeProduct('int4', PEAK_PRODUCT, threads),
    await timeProduct('per-tensor', PEAK_PRODUCT, threads),
  ];
  return {
    bytes: (inFeatures * outFeatures * FLOAT_BYTES * 1000) / readMs,
    floatOperations: (operations * 1000) / floatMs,
    int8Operations: (operations * 1000) / Math.min(...integerMs),
  };
}

/** What a step must move and do at least. */
function demandOf(precision: Precision, rows: number) {
  const { hidden_size: hidden, intermediate_size: inner, num_hidden_layers: layers } = SHAPE;
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim: headDim } = SHAPE;
  const perLayer = hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * inner;
  const linear = layers * perLayer;
  const vocabulary = SHAPE.vocab_size * hidden;
  const [linearBytes, vocabularyBytes] = WEIGHT_BYTES[precision];
  const kvBytes = rows * (CONTEXT + 1) * 2 * layers * kvHeads * headDim * FLOAT_BYTES;
  const logitsBytes = rows * SHAPE.vocab_size * FLOAT_BYTES;
  return {
    bytes: linear * linearBytes + vocabulary * vocabularyBytes + kvBytes + logitsBytes,
    products: 2 * rows * (linear + vocabulary),
    // Queries with keys, and weights with values.
    attention: 4 * rows * (CONTEXT + 1) * layers * heads * headDim,
  };
}

async function measure(precision: Precision, rows: number, machine: Machine): Promise<Measurement> {
  const model = await prepareModel(
    { kind: 'random', config: SHAPE, seed: 1 },
    { precision, cacheDirectory: defaultCacheDirectory() },
  );
  const decoder = new RawDecoder(model, rows, CAPACITY, CONTEXT, threads);
  const times: number[] = [];
  for (let step = -5; step < steps; step++) {
    const start = performance.now();
    decoder.step();
    if (step >= 0) times.push(performance.now() - start);
  }
  decoder.release();
  const { bytes, products, attention } = demandOf(precision, rows);
  const isInteger = precision === 'int8' || precision === 'int4';
  const productRate = isInteger ? machine.int8Operations : machine.floatOperations;
  const memoryMs = (bytes * 1000) / machine.bytes;
  const computeMs = 1000 * (products / productRate + attention / machine.floatOperations);
  const stepMs = median(times);
  return {
    precision,
    rows,
    megabytes: bytes / 1e6,
    gigaOperations: (products + attention) / 1e9,
    memoryMs,
    computeMs,
    stepMs,
    share: Math.max(memoryMs, computeMs) / stepMs,
  };
}

const machine = await measureMachine();
const measurements: Measurement[] = [];
for (const name of values.precisions.split(',')) {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  for (const rows of values.rows.split(',').map(Number)) {
    measurements.push(await measure(precision, rows, machine));
  }
}

if (values.json) {
  console.log(JSON.stringify({ shape: machineShape(), threads, machine, measurements }));
} else {
  const giga = (rate: number) => (rate / 1e9).toFixed(0);
  console.log(`${machineShape()}; ${threads} threads, context ${CONTEXT}, medians`);
  console.log(
    `memory ${giga(machine.bytes)} GB/s, fp32 ${giga(machine.floatOperations)} GFLOP/s, ` +
      `int8 ${giga(machine.int8Operations)} GOP/s\n`,
  );
  printTable(
    ['precision', 'rows', 'MB', 'GOP', 'memory ms', 'compute ms', 'step ms', 'of the roofline'],
    measurements.map((m) => [
      m.precision,
      String(m.rows),
      m.megabytes.toFixed(0),
      m.gigaOperations.toFixed(2),
      m.memoryMs.toFixed(1),
      m.computeMs.toFixed(1),
      m.stepMs.toFixed(1),
      `${(m.share * 100).toFixed(0)}%`,
    ]),
  );
}
