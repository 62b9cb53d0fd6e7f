/**
 * Costs and gains of the steps of `chairlift optimize` and of precisions: variants of a model, each made
 * and measured with evaluation data, and all of them timed in turns, as `eval --compare` does it.
 *
 *   npx tsx scripts/bench/optimize.ts [--model models/summit] [--data FILE] [--variants mlp,gptq]
 *     [--also models/foothill,student:int4] [--tokens 16384] [--every 1] [--rounds 3] [--threads 2]
 *     [--keep folder] [--html FILE]
 *
 * `--data` is the model's eval.jsonl, if it has one. `--variants` takes those of lib/optimize-variants.ts
 * that have such a name, or else whose names contain it. `--also` adds models as they are. `--every 4`
 * takes every fourth text and question. `--keep` leaves there what is made and measured, and the same
 * command goes on from it. Compressed is what gzip makes of the weights.
 */
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { machineName, measureRows, workloadOf } from '../../src/cli/offline/compare.ts';
import { ownData } from '../../src/cli/offline/eval-data.ts';
import { chooseModel } from '../../src/serving/models/model-source.ts';
import type { Comparison } from '../../src/eval/compare/comparison.ts';
import { comparisonHtml } from '../../src/eval/compare/compare-html.ts';
import { comparisonMarkdown } from '../../src/eval/compare/compare-table.ts';
import { parseVariant, type Variant } from '../../src/eval/compare/variant.ts';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import type { PrecisionReport } from '../../src/eval/evaluate-model.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { fileExists } from '../../src/files/file-exists.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { SINGLE_FILE } from '../../src/model/huggingface/safetensors.ts';
import { writeOwnTexts } from '../../src/optimize/calibration/own-texts.ts';
import { optimizeModel } from '../../src/optimize/optimize.ts';
import { TEXT_LENGTH } from '../../src/optimize/plan.ts';
import { MORE_VARIANTS, type OptimizeVariant, VARIANTS } from './lib/optimize-variants.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'models/summit' },
    data: { type: 'string' },
    variants: { type: 'string' },
    also: { type: 'string' },
    tokens: { type: 'string', default: '16384' },
    every: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: String(availableParallelism()) },
    keep: { type: 'string' },
    html: { type: 'string' },
  },
});
const threads = Number(values.threads);
const numTokens = Number(values.tokens);
const folder = values.keep ? resolve(values.keep) : await mkdtemp(join(tmpdir(), 'optimized-'));
await mkdir(folder, { recursive: true });

const chosen = await chooseModel(
  { model: values.model, randomWeights: undefined },
  async () => null,
);
const { source } = chosen;
if (source.kind === 'random' || chosen.decoder.kind === 'export') {
  throw new Error(`${values.model} has no weights to change`);
}
const { vocabSize, bosTokenId } = chosen.decoder.config;
const { tokenizer } = await loadTextModel({ ...chosen.text, vocabSize });
const all = await readEvalFile(values.data ?? (await ownData(chosen)));
const isPicked = (_: unknown, index: number) => index % Number(values.every) === 0;
const data = { texts: all.texts.filter(isPicked), questions: all.questions.filter(isPicked) };

/** Result that a name was kept for by an earlier run, or what `make` gives now. */
async function kept<T>(name: string, make: () => Promise<T>): Promise<T> {
  const path = join(folder, `${name}.json`);
  // As this script wrote it.
  if (await fileExists(path)) return JSON.parse(await readFile(path, 'utf8')) as T;
  const made = await make();
  await writeFile(path, JSON.stringify(made));
  return made;
}

/** Written once for all variants. */
async function calibrationTexts(): Promise<Int32Array[]> {
  const texts = await kept(`texts-${numTokens}`, async () => {
    const cacheDirectory = defaultCacheDirectory();
    const built = await prepareModel(source, { precision: 'fp32', cacheDirectory });
    const numTexts = Math.ceil(numTokens / TEXT_LENGTH);
    const options = { numTexts, length: TEXT_LENGTH, seed: 0, bosTokenId, threads };
    return writeOwnTexts(built, options, () => {}).map((text) => [...text]);
  });
  return texts.map((text) => Int32Array.from(text));
}

const calibration = { from: "the model's own", texts: await calibrationTexts() };
const evaluation = {
  from: 'the data',
  texts: data.texts
    .slice(0, 8)
    .map((text) => tokenizer.encode(text, { addSpecialTokens: true }).slice(0, TEXT_LENGTH)),
};

interface Made {
  readonly parameters: number;
  readonly bytes: number;
  readonly gzipped: number;
  readonly seconds: number;
}

const slugOf = (name: string) => name.replaceAll(/[^\w]+/g, '-');

/** @returns the folder, and what became of it; null where nothing was made */
async function madeFolder({ name, steps }: OptimizeVariant): Promise<[string, Made | null]> {
  if (steps.length === 0) return [values.model, null];
  const path = join(folder, slugOf(name));
  const made = await kept(`${slugOf(name)}-${numTokens}-made`, async (): Promise<Made> => {
    await rm(path, { recursive: true, force: true });
    const start = performance.now();
    const identity = resolve(values.model);
    const plan = { source, identity, textFolder: chosen.text.folder, steps, seed: 0 };
    const run = { ...plan, calibration, evaluation, numTokens, threads };
    const { after } = await optimizeModel(run, path, () => {});
    const seconds = (performance.now() - start) / 1000;
    const weights = join(path, SINGLE_FILE);
    const { size: bytes } = await stat(weights);
    return { parameters: after.parameters, bytes, gzipped: await gzippedBytes(weights), seconds };
  });
  return [path, made];
}

async function gzippedBytes(path: string): Promise<number> {
  let bytes = 0;
  const gzip = createReadStream(path).pipe(createGzip());
  for await (const chunk of gzip) bytes += (chunk as Buffer).length;
  return bytes;
}

const known = [...VARIANTS, ...MORE_VARIANTS];
const wanted =
  values.variants?.split(',').flatMap((word) => {
    const exactly = known.filter(({ name }) => name === word);
    return exactly.length > 0 ? exactly : known.filter(({ name }) => name.includes(word));
  }) ?? VARIANTS;
const variants: Variant[] = [];
const table: string[][] = [];
const mebibytes = (size: number) => (size / 2 ** 20).toFixed(1);
for (const variant of wanted) {
  const { name, precision } = variant;
  const [model, made] = await madeFolder(variant);
  variants.push({ name, precision, model });
  if (made === null) continue;
  const { parameters, bytes, gzipped, seconds } = made;
  const sizes = [`${(parameters / 1e6).toFixed(2)}M`, mebibytes(bytes), mebibytes(gzipped)];
  table.push([name, ...sizes, seconds.toFixed(0)]);
  console.error(`${name}: made in ${seconds.toFixed(0)} s`);
}
variants.push(...(values.also?.split(',') ?? []).map((name) => parseVariant(name)));

const workload = workloadOf(data);
const rows = await measureRows(
  variants,
  data,
  Number(values.rounds),
  { adapter: undefined, kvCacheDtype: 'auto', kernels: 'auto', maxNumSeqs: 16, threads },
  ({ name }, evaluate) =>
    kept<PrecisionReport>(`${slugOf(name)}-${workload.data.slice(0, 8)}`, async () => {
      const report = await evaluate();
      console.error(`${name}: perplexity ${report.perplexity?.toFixed(4)}`);
      return report;
    }),
);
const machine = machineName();
const comparison: Comparison = {
  date: new Date().toISOString(),
  machine,
  workload,
  rows: rows.map((row) => ({ ...row, machine })),
};
console.log(comparisonMarkdown(comparison));
console.log();
printTable(['variant', 'parameters', 'folder MiB', 'compressed MiB', 'made in s'], table);
if (values.html !== undefined) await writeFile(values.html, comparisonHtml(comparison));
if (!values.keep) await rm(folder, { recursive: true });
