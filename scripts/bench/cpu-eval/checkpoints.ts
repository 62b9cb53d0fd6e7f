import { execFile } from 'node:child_process';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fileExists } from '../../../src/files/file-exists.ts';
import { SafetensorsWeights, weightFiles } from '../../../src/model/huggingface/safetensors.ts';
import { KNOWN_SHAPES } from '../lib/known-shapes.ts';
import { writeMadeUpCheckpoint } from '../lib/made-up-checkpoint.ts';
import { GGUF_TYPES, type GgufType } from '../peers/gguf-quantization.ts';
import { CONVERTED_SHAPES, isConverted } from './converted.ts';
import type { ModelName } from './plan.ts';
import { paddedTokenizer, writeTokenizer } from './tokenizer.ts';
import { writeQuantized } from './write-gguf.ts';

const run = promisify(execFile);
const CONVERTED_SCRIPT = fileURLToPath(new URL('./converted.py', import.meta.url));

/** Programs that write the checkpoints of shapes that are converted. */
export interface ConverterTools {
  /** Python of an environment that has torch and transformers. */
  readonly python: string;
  /** Folder of llama.cpp's sources, for its converter. */
  readonly llamaSources: string;
}

/** Ids of the tokens that end a text, in models/summit. */
const ENDS = { bos_token_id: 1, eos_token_id: 2 };

/**
 * The checkpoint of a shape with random weights and a real tokenizer, in a format; written once.
 * @param folder that holds them all
 * @param precision of a server: q8_0 and q4_0 are GGUF files, all others the folder in bfloat16
 * @returns path of the folder or file
 */
export async function prepareCheckpoint(
  folder: string,
  model: ModelName,
  precision: string,
  tools: ConverterTools,
): Promise<string> {
  const checkpoint = join(folder, model);
  if (!(await fileExists(checkpoint))) {
    const unfinished = `${checkpoint}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    const shape = shapeOf(model);
    if (isConverted(model)) await writeByTransformers(unfinished, shape, tools);
    else await writeMadeUpCheckpoint(unfinished, shape);
    await writeTokenizer(unfinished, await paddedTokenizer(shape.vocab_size));
    await rename(unfinished, checkpoint);
  }
  const type = GGUF_TYPES.find((each) => each === precision);
  if (type === undefined) return checkpoint;
  const path = join(folder, `${model}-${type}.gguf`);
  if (await fileExists(path)) return path;
  if (!isConverted(model)) await writeGguf(path, checkpoint, model, type);
  else if (type === 'q8_0') await writeConvertedGguf(path, checkpoint, tools);
  else throw new Error(`${model} has no GGUF file in ${type}`);
  return path;
}

function shapeOf(model: ModelName) {
  return { ...(isConverted(model) ? CONVERTED_SHAPES[model] : KNOWN_SHAPES[model]), ...ENDS };
}

async function writeGguf(
  path: string,
  checkpoint: string,
  model: ModelName,
  type: GgufType,
): Promise<void> {
  const shape = shapeOf(model);
  const weights = await SafetensorsWeights.open(
    await weightFiles(checkpoint, await readdir(checkpoint)),
  );
  try {
    const tokenizer = await paddedTokenizer(shape.vocab_size);
    await writeQuantized(path, { shape, weights, tokenizer }, type);
  } finally {
    await weights.close();
  }
}

/** Weights are Transformers' own random ones, whose decays are such that a state lasts. */
async function writeByTransformers(
  folder: string,
  shape: object,
  { python }: ConverterTools,
): Promise<void> {
  await writeFile(join(folder, 'config.json'), JSON.stringify(shape));
  await run(python, [CONVERTED_SCRIPT, 'weights', folder]);
}

async function writeConvertedGguf(
  path: string,
  checkpoint: string,
  { python, llamaSources }: ConverterTools,
): Promise<void> {
  await run(python, [CONVERTED_SCRIPT, 'gguf', checkpoint, llamaSources, `${path}.unfinished`]);
  await rename(`${path}.unfinished`, path);
}
