import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileExists } from '../../../src/files/file-exists.ts';
import { SafetensorsWeights, weightFiles } from '../../../src/model/huggingface/safetensors.ts';
import { KNOWN_SHAPES, type ShapeName } from '../lib/known-shapes.ts';
import { writeMadeUpCheckpoint } from '../lib/made-up-checkpoint.ts';
import { GGUF_TYPES } from '../peers/gguf-quantization.ts';
import { paddedTokenizer, writeTokenizer } from './tokenizer.ts';
import { writeQuantized } from './write-gguf.ts';

/**
 * The checkpoint of a shape with random weights and a real tokenizer, in a format; written once.
 * @param folder that holds them all
 * @param precision of a server: q8_0 and q4_0 are GGUF files, all others the folder in bfloat16
 * @returns path of the folder or file
 */
export async function prepareCheckpoint(
  folder: string,
  model: ShapeName,
  precision: string,
): Promise<string> {
  // Ids of the tokens that end a text, in models/summit.
  const shape = { ...KNOWN_SHAPES[model], bos_token_id: 1, eos_token_id: 2 };
  const checkpoint = join(folder, model);
  if (!(await fileExists(checkpoint))) {
    const unfinished = `${checkpoint}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await writeMadeUpCheckpoint(unfinished, shape);
    await writeTokenizer(unfinished, await paddedTokenizer(shape.vocab_size));
    await rename(unfinished, checkpoint);
  }
  const type = GGUF_TYPES.find((each) => each === precision);
  if (type === undefined) return checkpoint;
  const path = join(folder, `${model}-${type}.gguf`);
  if (await fileExists(path)) return path;
  const files = await weightFiles(checkpoint, await readdir(checkpoint));
  const weights = await SafetensorsWeights.open(files);
  try {
    const tokenizer = await paddedTokenizer(shape.vocab_size);
    await writeQuantized(path, { shape, weights, tokenizer }, type);
  } finally {
    await weights.close();
  }
  return path;
}
