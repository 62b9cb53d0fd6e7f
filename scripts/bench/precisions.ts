/**
 * What each precision costs and gives: speed, memory and file size on the SmolLM2-135M shape
 * (random weights) with one stream and a full batch, accuracy on summit and its test data; then
 * int8 compared with the 8-bit operator with one activation scale for the whole batch (W8A8 per
 * tensor), which is faster, but makes a row's result depend on its neighbours.
 *
 *   npx tsx scripts/bench/precisions.ts [--rows 16] [--precisions fp32,fp16,int8,int4] [--steps 20]
 *     [--threads 2] [--json]
 *
 * Every precision is measured in a process of its own. The last comparison runs in this one, both in
 * turns.
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
import { loadTextModel } from '../../src/front/text/load-text-model.ts';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/build/cache-directory.ts';
import { type BuiltModel, PRECISIONS, type Precision } from '../../src/model/build/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { machineShape } from './lib/machine.ts';
import { writePerTensorModel } from './lib/per-tensor-model.ts';
import { Draws } from './lib/random.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { median, printTable } from './lib/table.ts';

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

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '16' },
    precisions: { type: 'string', default: PRECISIONS.join(',') },
    steps: { type: 'string', default: '20' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const threads = Number(values.threads);
const steps = Number(values.steps);
const limits = { maxNumSeqs: Number(values.rows), threads };
const precisions = values.precisions.split(',').map((name): Precision => {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  return precision;
});

function build(source: ModelSource, precision: Precision): Promise<BuiltModel> {
  return prepareModel(source, { precision, cacheDirectory: defaultCacheDirectory() });
}

interface Ratio {
  /** Such as `decode, 16 rows`. */
  readonly what: string;
  /** Medians, in milliseconds. */
  readonly int8Ms: number;
  readonly perTensorMs: number;
}

/** Runs both in turns, a few steps at a time. */
async function compare(
  what: string,
  models: readonly [int8: BuiltModel, perTensor: BuiltModel],
  { rows, context }: { readonly rows: number; readonly context: number },
  run: (decoder: RawDecoder) => void,
): Promise<Ratio> {
  const decoders = models.map((model) => new RawDecoder(model, rows, CAPACITY, context, threads));
  const times: number[][] = decoders.map(() => []);
  for (let turn = 0; turn < steps / STEPS_PER_TURN; turn++) {
    for (const [index, decoder] of decoders.entries()) {
      // The other's threads spin for a while before they sleep.
      await sleep(100);
      for (let step = -1; step < STEPS_PER_TURN; step++) {
        const start = performance.now();
        run(decoder);
        if (step >= 0) times[index]?.push(performance.now() - start);
      }
    }
  }
  for (const decoder of decoders) decoder.release();
  const [int8Ms = NaN, perTensorMs = NaN] = times.map(median);
  return { what, int8Ms, perTensorMs };
}

async function compareWithPerTensor(): Promise<Ratio[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-per-tensor-'));
  try {
    const perTensor = await writePerTensorModel(await build(SMOLLM2, 'fp32'), folder);
    const models = [await build(SMOLLM2, 'int8'), perTensor] as const;
    const ratios: Ratio[] = [];
    for (const rows of RATIO_ROWS) {
      const what = `decode, ${rows} rows`;
      const step = (decoder: RawDecoder) => void decoder.step();
      ratios.push(await compare(what, models, { rows, context: CONTEXT }, step));
    }
    const prompt = { rows: 1, context: PREFILL_TOKENS };
    const what = `prefill, ${PREFILL_TOKENS} tokens`;
    ratios.push(await compare(what, models, prompt, (decoder) => decoder.prefill()));
    return ratios;
  } finally {
    await rm(folder, { recursive: true });
  }
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
const ratios = await compareWithPerTensor();

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), threads, speed, accuracy, ratios }));
} else {
  console.log(`${machineShape()}; ${threads} threads\n\nSmolLM2-135M shape\n`);
  console.log(`${reportTable(speed)}\n\nsummit\n\n${reportTable(accuracy)}\n`);
  printTable(
    ['', 'int8 ms', 'per tensor ms', 'int8 / per tensor, speed'],
    ratios.map(({ what, int8Ms, perTensorMs }) => [
      what,
      int8Ms.toFixed(1),
      perTensorMs.toFixed(1),
      `${(perTensorMs / int8Ms).toFixed(2)}x`,
    ]),
  );
}
