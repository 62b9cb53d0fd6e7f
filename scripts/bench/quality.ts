/**
 * Quality of each precision on a real model's float weights, next to llama.cpp's types: bits per weight,
 * perplexity, how often the likeliest next token is fp32's, and how far probabilities are from fp32's
 * (Kullback-Leibler divergence, in nats).
 *
 *   npx tsx scripts/bench/quality.ts [--precisions int8,int8-blocks,int4-mixed,int4] [--llama folder]
 *     [--types Q8_0,Q4_K_M,Q4_0] [--chunks 16] [--length 256] [--threads 2] [--folder folder] [--model file.gguf]
 *
 * After scripts/real-models/fetch.ts. The model is SmolLM2-135M-Instruct, whose file is of Q4_1: its
 * weights are taken as floats, in another order (lib/float-reference.ts), so that they are on no format's
 * grid. Its float32 file is 540 MB, and made in a temporary folder unless --folder names one to keep it.
 *
 * --model names another file of an architecture like Llama's or Gemma 3's to take the weights of.
 *
 * --llama names a folder with llama.cpp's llama-quantize and llama-perplexity. Both sides read the same
 * chunks of the same text, which is of models/summit/eval.jsonl, and count the second half of each chunk;
 * fp32 is that of their own kernels.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { fileExists } from '../../src/files/file-exists.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { ggufTextFolder } from '../../src/model/gguf/text/text-folder.ts';
import { type BuiltModel, PRECISIONS, type Precision } from '../../src/model/manifest.ts';
import { realModelPath } from '../real-models/models.ts';
import { writeFloatReference } from './lib/float-reference.ts';
import { divergence, normalize, readTexts } from './lib/lockstep-texts.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    precisions: { type: 'string', default: 'int8,int8-blocks,int4-mixed,int4' },
    llama: { type: 'string' },
    types: { type: 'string', default: 'Q8_0,Q6_K,Q5_K_M,Q4_K_M,Q4_0' },
    chunks: { type: 'string', default: '16' },
    length: { type: 'string', default: '256' },
    threads: { type: 'string', default: String(availableParallelism()) },
    folder: { type: 'string' },
    model: { type: 'string', default: realModelPath('smollm2-135m-instruct-q4_1') },
  },
});
const numChunks = Number(values.chunks);
const length = Number(values.length);
const threads = Number(values.threads);
const precisions = values.precisions.split(',').map((name): Precision => {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  return precision;
});

/** One line of the table. */
interface Quality {
  readonly what: string;
  readonly bytes: number;
  readonly perplexity: number;
  /** Share of positions whose likeliest token is fp32's. */
  readonly same: number;
  readonly nats: number;
}

const cacheDirectory = defaultCacheDirectory();
const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'chairlift-quality-')));
try {
  const reference = join(folder, 'reference.gguf');
  if (!(await fileExists(reference))) await writeFloatReference(values.model, reference);
  const { texts } = await readEvalFile('models/summit/eval.jsonl');
  const stories = texts.flatMap(
    (text) => text.split('<|im_start|>assistant\n')[1]?.split('<|im_end|>')[0] ?? [],
  );
  const textPath = join(folder, 'text.txt');
  await writeFile(textPath, stories.join('\n\n'));
  const rows = [...(await ours(reference, stories.join('\n\n')))];
  if (values.llama) rows.push(...(await llamas(values.llama, reference, textPath)));
  const numWeights = (await stat(reference)).size / 4;
  printTable(
    ['weights', 'bits a weight', 'MB', 'perplexity', 'same token', 'divergence'],
    rows.map(({ what, bytes, perplexity, same, nats }) => [
      what,
      ((8 * bytes) / numWeights).toFixed(2),
      (bytes / 1e6).toFixed(1),
      perplexity.toFixed(3),
      `${(100 * same).toFixed(1)}%`,
      nats.toFixed(4),
    ]),
  );
} finally {
  if (values.folder === undefined) await rm(folder, { recursive: true });
}

/** Precisions of this server, by our own kernels where these have them. */
async function ours(reference: string, text: string): Promise<Quality[]> {
  const textFolder = await ggufTextFolder(reference, cacheDirectory);
  const source = { kind: 'folder', path: reference } as const;
  const { vocabSize } = (await prepareModel(source, { precision: 'fp32', cacheDirectory }))
    .manifest;
  const { tokenizer } = await loadTextModel({ folder: textFolder, vocabSize });
  const ids = tokenizer.encode(text, { addSpecialTokens: false });
  const chunks = Array.from({ length: numChunks }, (_, chunk) =>
    ids.slice(chunk * length, (chunk + 1) * length),
  );
  if ((chunks.at(-1)?.length ?? 0) < length) throw new Error(`the text has ${ids.length} tokens`);
  // Models with a token for the beginning have it in place of each chunk's first, as with llama.cpp.
  const [beginning] = tokenizer.encode('', { addSpecialTokens: true });
  if (beginning !== undefined) for (const chunk of chunks) chunk[0] = beginning;
  const exact = new Map<string, Float32Array>();
  const measure = async (precision: Precision): Promise<Quality> => {
    const isNative = precision !== 'fp32' && precision !== 'fp16';
    const nativeKernels = isNative ? ({ kvCacheDtype: 'float16' } as const) : undefined;
    const model = await prepareModel(source, { precision, cacheDirectory, nativeKernels });
    let [loss, same, nats, count] = [0, 0, 0, 0];
    readTexts(model, chunks, threads, (chunk, position, logits) => {
      const next = chunks[chunk]?.[position + 1];
      if (next === undefined || position < length / 2) return;
      const own = normalize(logits);
      loss -= own[next] ?? NaN;
      count++;
      const key = `${chunk}:${position}`;
      const fp32 = exact.get(key) ?? own.slice();
      exact.set(key, fp32);
      nats += divergence(fp32, own);
      same += Number(argmax(fp32) === argmax(own));
    });
    console.error(`${precision} done`);
    return {
      what: precision,
      bytes: await weightBytes(model),
      perplexity: Math.exp(loss / count),
      same: same / count,
      nats: nats / count,
    };
  };
  const rows: Quality[] = [await measure('fp32')];
  for (const precision of precisions) rows.push(await measure(precision));
  return rows;
}

async function weightBytes({ graphPath, weightsFolder }: BuiltModel): Promise<number> {
  const { size } = await stat(join(weightsFolder, 'decoder.onnx.data'));
  return size + (await stat(join(dirname(graphPath), 'decoder.onnx'))).size;
}

/** Types of llama.cpp. */
async function llamas(binaries: string, reference: string, text: string): Promise<Quality[]> {
  const base = join(folder, `base-${numChunks}-${length}.kld`);
  const run = (program: string, ...args: readonly string[]) =>
    execFileSync(join(binaries, program), args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const shape = [
    '-t',
    values.threads,
    '-c',
    String(length),
    '-b',
    String(length),
    '--chunks',
    String(numChunks),
  ];
  const perplexity = (model: string, ...args: readonly string[]) =>
    run('llama-perplexity', '-m', model, '--kl-divergence-base', base, ...shape, ...args);
  if (!(await fileExists(base))) perplexity(reference, '-f', text);
  const rows: Quality[] = [];
  for (const type of values.types.split(',').filter(Boolean)) {
    const quantized = join(folder, `${type}.gguf`);
    if (!(await fileExists(quantized))) run('llama-quantize', reference, quantized, type, '2');
    const report = perplexity(quantized, '--kl-divergence');
    const find = (pattern: RegExp) => Number(pattern.exec(report)?.[1] ?? NaN);
    rows.push({
      what: `llama.cpp ${type}`,
      bytes: (await stat(quantized)).size,
      perplexity: find(/Mean PPL\(Q\)\s*:\s*([\d.]+)/),
      same: find(/Same top p:\s*([\d.]+)/) / 100,
      nats: find(/Mean\s+KLD:\s*([\d.]+)/),
    });
    console.error(`${type} done`);
  }
  return rows;
}
