/**
 * What the steps of `chairlift optimize` cost and give: variants of a model, each made and measured with
 * the evaluation data that comes with it. Speed and tasks are of a process of its own for each.
 *
 *   npx tsx scripts/bench/optimize.ts [--model models/summit] [--variants mlp,gptq] [--tokens 16384]
 *     [--rows 16] [--threads 2] [--keep folder] [--json]
 *
 * `--variants` takes those whose names contain one of these words. `--keep` leaves the folders there, and
 * takes those that are there already. Compressed is what gzip makes of the weights.
 */
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { encodeData, evaluateModel } from '../../src/eval/evaluate-model.ts';
import { loadTextModel } from '../../src/front/text/load-text-model.ts';
import { defaultCacheDirectory } from '../../src/model/build/cache-directory.ts';
import { fileExists } from '../../src/model/build/file-exists.ts';
import type { Precision } from '../../src/model/build/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../src/model/huggingface/model-folder.ts';
import { writeOwnTexts } from '../../src/optimize/calibration/own-texts.ts';
import { optimizeModel } from '../../src/optimize/optimize.ts';
import { TEXT_LENGTH } from '../../src/optimize/plan.ts';
import { polynomialShares } from '../../src/optimize/steps/schedule.ts';
import type { Rounding, Sparsity, Step } from '../../src/optimize/steps/step.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'models/summit' },
    variants: { type: 'string', default: '' },
    tokens: { type: 'string', default: '16384' },
    rows: { type: 'string', default: '16' },
    threads: { type: 'string', default: String(availableParallelism()) },
    keep: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const threads = Number(values.threads);
const numTokens = Number(values.tokens);
const model = resolve(values.model);
const source = { kind: 'folder', path: model } as const;

interface Variant {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly precision: Precision;
}

const mlp = (share: number, refit: boolean): Step => ({ step: 'prune-mlp', share, refit });
const layers = (refit: boolean): Step => ({
  step: 'prune-layers',
  amount: { kind: 'share', share: 0.25 },
  refit,
});
const heads = (refit: boolean): Step => ({ step: 'prune-heads', share: 0.5, of: 'groups', refit });
const sparse = (more: Partial<Sparsity>): Step => ({
  step: 'sparsity',
  pattern: 0.5,
  criterion: 'magnitude',
  blockSize: 1,
  refit: false,
  ...more,
});
const rounded = (method: Rounding['method'], blockSize = 64): Step => ({
  step: 'rounding',
  method,
  blockSize,
});
const fp32 = (name: string, ...steps: Step[]): Variant => ({ name, steps, precision: 'fp32' });
const int4 = (name: string, ...steps: Step[]): Variant => ({ name, steps, precision: 'int4' });

const VARIANTS: readonly Variant[] = [
  fp32('fp32'),
  ...[0.2, 0.3, 0.5].flatMap((share) => [
    fp32(`mlp ${100 * share} %`, mlp(share, true)),
    fp32(`mlp ${100 * share} %, no re-fit`, mlp(share, false)),
  ]),
  fp32('layers 25 %', layers(true)),
  fp32('layers 25 %, no re-fit', layers(false)),
  fp32('heads 50 %', heads(true)),
  fp32('heads 50 %, no re-fit', heads(false)),
  fp32('50 % zeros, magnitude', sparse({})),
  fp32('50 % zeros, wanda', sparse({ criterion: 'wanda' })),
  fp32('50 % zeros, wanda, re-fit', sparse({ criterion: 'wanda', refit: true })),
  fp32(
    '50 % zeros, wanda, polynomial',
    ...polynomialShares(0.5, 4).map((pattern) =>
      sparse({ pattern, criterion: 'wanda', refit: true }),
    ),
  ),
  fp32('90 % zeros, wanda, re-fit', sparse({ pattern: 0.9, criterion: 'wanda', refit: true })),
  fp32('2:4 zeros, wanda, re-fit', sparse({ pattern: '2:4', criterion: 'wanda', refit: true })),
  fp32('50 % zeros, blocks of 2 x 2', sparse({ blockSize: 2 })),
  int4('int4 nearest', rounded('nearest')),
  int4('int4 gptq', rounded('gptq')),
  int4('int4 awq', rounded('awq')),
  int4('int4 nearest, 128', rounded('nearest', 128)),
  int4('int4 gptq, 128', rounded('gptq', 128)),
  int4('mlp 20 % + int4 gptq', mlp(0.2, true), rounded('gptq')),
];

const words = values.variants.split(',');
const wanted = VARIANTS.filter(({ name }) => words.some((word) => name.includes(word)));
const folder = values.keep ? resolve(values.keep) : await mkdtemp(join(tmpdir(), 'optimized-'));
await mkdir(folder, { recursive: true });

const inspected = await inspectModelFolder(model);
const { maxPositionEmbeddings, vocabSize, bosTokenId } = decoderConfig();
const text = {
  ...(await loadTextModel({ folder: model, vocabSize })),
  maxModelLen: maxPositionEmbeddings,
};
const data = await readEvalFile(join(model, 'eval.jsonl'));
const encoded = encodeData(data, text);

function decoderConfig() {
  if (inspected.kind === 'export') throw new Error(`${model} is an ONNX export`);
  return inspected.config;
}

/** Written once for all variants. */
async function calibrationTexts() {
  const cacheDirectory = defaultCacheDirectory();
  const built = await prepareModel(source, { precision: 'fp32', cacheDirectory });
  const numTexts = Math.ceil(numTokens / TEXT_LENGTH);
  const options = { numTexts, length: TEXT_LENGTH, seed: 0, bosTokenId, threads };
  return { from: "the model's own", texts: writeOwnTexts(built, options, () => {}) };
}

async function compressedBytes(path: string): Promise<number> {
  let bytes = 0;
  const gzip = createReadStream(path).pipe(createGzip());
  for await (const chunk of gzip) bytes += (chunk as Buffer).length;
  return bytes;
}

const calibration = await calibrationTexts();

async function make({ name, steps }: Variant): Promise<string> {
  if (steps.length === 0) return model;
  const path = join(folder, name.replaceAll(/[^\w]+/g, '-'));
  if (await fileExists(path)) return path;
  const identity = 'of this benchmark';
  const evaluation = { from: 'eval.jsonl', texts: encoded.texts.slice(0, 8) };
  const plan = { source, identity, textFolder: model, steps, seed: 0, calibration, evaluation };
  await optimizeModel({ ...plan, numTokens, threads }, path, () => {});
  return path;
}

const rows: (readonly string[])[] = [];
const reports: unknown[] = [];
for (const variant of wanted) {
  const start = performance.now();
  const path = await make(variant);
  const madeS = (performance.now() - start) / 1000;
  const { precision, name } = variant;
  const built = await prepareModel(
    { kind: 'folder', path },
    {
      precision,
      cacheDirectory: defaultCacheDirectory(),
      ...(precision === 'int4' && { nativeKernels: { kvCacheDtype: 'float32' } }),
    },
  );
  const limits = { maxNumSeqs: Number(values.rows), threads };
  const report = await evaluateModel(built, encoded, text, limits, () => {});
  const weights = join(path, 'model.safetensors');
  const bytes = (await stat(weights)).size;
  const gzipped = await compressedBytes(weights);
  const correct = report.tasks.reduce((sum, task) => sum + task.correct, 0);
  const cases = report.tasks.reduce((sum, task) => sum + task.cases, 0);
  reports.push({ name, madeS, bytes, gzipped, ...report });
  const mib = (size: number) => (size / 2 ** 20).toFixed(1);
  rows.push([
    name,
    `${(built.manifest.numParameters / 1e6).toFixed(2)}M`,
    mib(bytes),
    mib(gzipped),
    mib(report.fileBytes),
    report.perplexity?.toFixed(4) ?? '',
    `${((100 * correct) / cases).toFixed(1)} %`,
    (1000 / report.singleStepMs).toFixed(0),
    ((1000 * report.batchSize) / report.fullStepMs).toFixed(0),
    madeS.toFixed(0),
  ]);
  console.error(rows.at(-1)?.join(' | '));
}
if (values.json) console.log(JSON.stringify(reports, null, 2));
else {
  printTable(
    [
      'variant',
      'parameters',
      'folder MiB',
      'compressed MiB',
      'served MiB',
      'perplexity',
      'tasks',
      'tok/s, 1',
      `tok/s, ${values.rows}`,
      'made in s',
    ],
    rows,
  );
}
if (!values.keep) await rm(folder, { recursive: true });
