import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { dualTypeOf } from '../encoder/text-part.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SafetensorsWeights, weightFiles } from '../huggingface/safetensors.ts';
import { readVisionFiles } from '../vision/read-vision-files.ts';
import { type DualConfig, parseDualConfig } from './dual-config.ts';

/** The part of a model of two towers that sees. */
export interface DualImages {
  readonly config: DualConfig;
  /** Absolute paths of the files with the weights. */
  readonly files: readonly string[];
}

/** Numbers that make logits of the cosines of texts and images. */
export interface LogitScale {
  readonly factor: number;
  readonly bias: number;
}

/**
 * Finds out how a model of two towers sees.
 * @returns null for one that reads texts alone, or does not say how it wants its images
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export async function inspectDual(folder: string): Promise<DualImages | null> {
  const path = resolve(folder);
  if (dualTypeOf(await readJson(join(path, 'config.json'))) === null) return null;
  const names = await readdir(path);
  const files = await readVisionFiles(path, names);
  if (files === null) return null;
  return { config: parseDualConfig(files), files: await weightFiles(path, names) };
}

/** Reads the scale from the weights. @throws {ModelError} if they are damaged */
export async function readLogitScale({ config, files }: DualImages): Promise<LogitScale> {
  const weights = await SafetensorsWeights.open(files);
  try {
    const isClip = config.probability === 'softmax';
    const [scale = 0] = await weights.get('logit_scale', isClip ? [] : [1]);
    const [bias = 0] = isClip ? [] : await weights.get('logit_bias', [1]);
    return { factor: Math.exp(scale), bias };
  } finally {
    await weights.close();
  }
}
