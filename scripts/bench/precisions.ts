/**
 * Costs and gains of each precision: speed, memory and file size on the SmolLM2-135M shape
 * (random weights) with one stream and a full batch, accuracy on summit and its test data; then
 * int8 compared with int8-static, whose activations have constant scales, by our own kernels and by ONNX
 * Runtime's, with the other precisions of our own kernels, and with the 8-bit operator that has one
 * activation scale for the whole batch (W8A8 per tensor), which makes a row's result depend on its
 * neighbours.
 *
 *   npx tsx scripts/bench/precisions.ts [--rows 16] [--precisions fp32,fp16,int8,int8-static,int4]
 *     [--steps 20] [--compare own] [--threads 2] [--cpu-time] [--json]
 *
 * Every precision is measured in a process of its own; none with `--precisions none`. The comparisons,
 * or those whose title has what --compare says, run in this one, in turns. With --cpu-time the least CPU
 * time of these is taken instead of the median of what a clock says, for machines that others use; give
 * it --threads 1, since threads that wait spin.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import {
  type EncodedData,
  encodeData,
  evaluateModel,
  type PrecisionReport,
} from '../../src/eval/evaluate-model.ts';
import { reportTable } from '../../src/eval/report.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { staticCalibration } from '../../src/serving/plan/static-calibration.ts';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import {
  type BuiltModel,
  NATIVE_PRECISIONS,
  PRECISIONS,
  type Precision,
} from '../../src/model/manifest.ts';
import { layerMatrices } from '../../src/model/graph/layer-matrices.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import type { StaticCalibration } from '../../src/model/static/static-activations.ts';
import { machineShape } from './lib/machine.ts';
import { writePerTensorModel } from './lib/per-tensor-model.ts';
import { timing } from './lib/process-time.ts';
import { Draws } from './lib/random.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { printTable } from './lib/table.ts';

const SMOLLM2: ModelSource = { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 };
const SUMMIT = 'models/summit';
const SUMMIT_TEXT = { folder: SUMMIT, vocabSize: 4096 };
const SUMMIT_MAX_LEN = 2048;
/** Length of the made-up texts by which a full batch is timed. */
const TEXT_TOKENS = 128;
const CONTEXT = 128;
const PREFILL_TOKENS = 512;
const CAPACITY = 1024;
const STEPS_PER_TURN = 5;
const RATIO_ROWS = [1, 4, 16, 32];

/** For all matrices in the layers of the shape. */
const CONSTANT_SCALES: StaticCalibration = {
  key: 'constant scales of a benchmark',
  find: async () => {
    const config = parseDecoderConfig(PRESETS['smollm2-135m'], 'smollm2-135m');
    const names = Array.from({ length: config.numLayers }, (_, layer) =>
      layerMatrices(config, layer).map(({ name }) => name),
    ).flat();
    return { factors: new Map(), steps: new Map(names.map((name) => [name, 0.03])) };
  },
};

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '16' },
    precisions: { type: 'string', default: PRECISIONS.join(',') },
    steps: { type: 'string', default: '20' },
    compare: { type: 'string', default: '' },
    threads: { type: 'string', default: String(availableParallelism()) },
    'cpu-time': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const threads = Number(values.threads);
const steps = Number(values.steps);
const limits = { maxNumSeqs: Number(values.rows), threads };
const named = values.precisions === 'none' ? [] : values.precisions.split(',');
const precisions = named.map((name): Precision => {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  return precision;
});

const OURS = { kvCacheDtype: 'float16' } as const;

const { clock, typical } = timing(values['cpu-time']);

async function build(
  source: ModelSource,
  precision: Precision,
  nativeKernels: BuildOptions['nativeKernels'] = NATIVE_PRECISIONS.has(precision)
    ? OURS
    : undefined,
): Promise<BuiltModel> {
  const options = { cacheDirectory: defaultCacheDirectory() };
  // Random weights have only their speed told, which does not depend on what scales there are.
  const calibrated = () =>
    source.kind === 'random' ? CONSTANT_SCALES : staticCalibration(source, options, null);
  const calibration = precision === 'int8-static' ? await calibrated() : undefined;
  return prepareModel(source, {
    ...options,
    precision,
    nativeKernels,
    staticCalibration: calibration,
  });
}

interface Speeds {
  /** Such as `decode, 16 rows`. */
  readonly what: string;
  /** Medians by variant, in milliseconds. */
  readonly ms: readonly number[];
}

/** Runs all in turns, a few steps at a time. */
async function compare(
  what: string,
  models: readonly BuiltModel[],
  { rows, context }: { readonly rows: number; readonly context: number },
  run: (decoder: RawDecoder) => void,
): Promise<Speeds> {
  const decoders = models.map((model) => new RawDecoder(model, rows, CAPACITY, context, threads));
  const times: number[][] = decoders.map(() => []);
  for (let turn = 0; turn < steps / STEPS_PER_TURN; turn++) {
    for (const [index, decoder] of decoders.entries()) {
      // The others' threads spin for a while before they sleep.
      await sleep(100);
      for (let step = -1; step < STEPS_PER_TURN; step++) {
        const start = clock();
        run(decoder);
        if (step >= 0) times[index]?.push(clock() - start);
      }
    }
  }
  for (const decoder of decoders) decoder.release();
  return { what, ms: times.map(typical) };
}

/** Decode steps and a prompt with each of several variants. */
async function compareAll(models: readonly BuiltModel[]): Promise<Speeds[]> {
  const speeds: Speeds[] = [];
  for (const rows of RATIO_ROWS) {
    const what = `decode, ${rows} rows`;
    const step = (decoder: RawDecoder) => void decoder.step();
    speeds.push(await compare(what, models, { rows, context: CONTEXT }, step));
  }
  const prompt = { rows: 1, context: PREFILL_TOKENS };
  const what = `prefill, ${PREFILL_TOKENS} tokens`;
  speeds.push(await compare(what, models, prompt, (decoder) => decoder.prefill()));
  return speeds;
}

/** Precision that int8 is compared with, and by whose kernels. */
const COMPARISONS = {
  'int8-static, our own kernels': async () => {
    return compareWithInt8(await build(SMOLLM2, 'int8-static', OURS), OURS);
  },
  'int8-blocks, our own kernels': async () =>
    compareWithInt8(await build(SMOLLM2, 'int8-blocks'), OURS),
  'int4-mixed, our own kernels': async () =>
    compareWithInt8(await build(SMOLLM2, 'int4-mixed'), OURS),
  'int4, our own kernels': async () => compareWithInt8(await build(SMOLLM2, 'int4', OURS), OURS),
  "int8-static, ONNX Runtime's": async () => compareWithInt8(await build(SMOLLM2, 'int8-static')),
  "per tensor, ONNX Runtime's": async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chairlift-per-tensor-'));
    try {
      return await compareWithInt8(await writePerTensorModel(await build(SMOLLM2, 'fp32'), folder));
    } finally {
      await rm(folder, { recursive: true });
    }
  },
} as const;

async function compareWithInt8(
  model: BuiltModel,
  nativeKernels?: BuildOptions['nativeKernels'],
): Promise<Speeds[]> {
  return compareAll([await build(SMOLLM2, 'int8', nativeKernels), model]);
}

function printComparison(what: string, speeds: readonly Speeds[]): void {
  console.log(`\n${what}\n`);
  printTable(
    ['', 'int8 ms', 'other ms', 'other over int8, speed'],
    speeds.map(({ what: work, ms: [int8 = NaN, other = NaN] }) => [
      work,
      int8.toFixed(1),
      other.toFixed(1),
      `${(int8 / other).toFixed(2)}x`,
    ]),
  );
}

const text = { ...(await loadTextModel(SUMMIT_TEXT)), maxModelLen: SUMMIT_MAX_LEN };
const questions = encodeData(await readEvalFile(join(SUMMIT, 'eval.jsonl')), text);
const draws = new Draws(1);
const madeUp: EncodedData = {
  texts: Array.from({ length: limits.maxNumSeqs }, () => draws.tokenIds(TEXT_TOKENS)),
  prompts: [],
  questions: [],
  maxModelLen: TEXT_TOKENS,
};

const speed: PrecisionReport[] = [];
const accuracy: PrecisionReport[] = [];
for (const precision of precisions) {
  const large = await build(SMOLLM2, precision);
  // Made-up texts have no perplexity worth telling.
  const measured = await evaluateModel(large, madeUp, text, limits, () => {});
  speed.push({ ...measured, perplexity: null });
  const small = await build({ kind: 'folder', path: SUMMIT }, precision);
  accuracy.push(await evaluateModel(small, questions, text, limits, () => {}));
}
const ratios: { what: string; speeds: Speeds[] }[] = [];
for (const [what, run] of Object.entries(COMPARISONS)) {
  if (what.includes(values.compare)) ratios.push({ what, speeds: await run() });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), threads, speed, accuracy, ratios }));
} else {
  console.log(`${machineShape()}; ${threads} threads\n\nSmolLM2-135M shape\n`);
  if (precisions.length > 0) {
    console.log(`${reportTable(speed)}\n\nsummit\n\n${reportTable(accuracy)}\n`);
  }
  for (const { what, speeds } of ratios) printComparison(what, speeds);
}
