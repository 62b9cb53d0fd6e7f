import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isGguf } from '../gguf/gguf-names.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SafetensorsWeights, weightFiles } from '../huggingface/safetensors.ts';
import { speechWeights } from '../huggingface/speech-weights.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { isSpeechConfig, parseSpeechConfig, type SpeechShape } from './speech-config.ts';

/** The part of a model that hears. */
export interface SpeechPart {
  /** Absolute path of the model's folder. */
  readonly path: string;
  readonly shape: SpeechShape;
  /** Absolute paths of the files with the weights, those of the decoder included. */
  readonly files: readonly string[];
  /** Opens the weights. @throws {ModelError} if a file is missing or damaged */
  readonly open: () => Promise<WeightSource>;
  /** The same where the decoder's positions are those of texts alone. */
  readonly openAsStored: () => Promise<WeightSource>;
}

/**
 * Finds out what a model hears.
 * @param path absolute, of a folder or a GGUF file
 * @returns null for one that hears nothing
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export async function inspectSpeech(path: string): Promise<SpeechPart | null> {
  if (isGguf(path)) return null;
  const names = await readdir(path);
  if (!names.includes('config.json')) return null;
  const origin = join(path, 'config.json');
  const config = await readJson(origin);
  if (!isSpeechConfig(config)) return null;
  const shape = parseSpeechConfig(config, origin);
  const files = await weightFiles(path, names);
  const openBehind = async (numPositions: number) =>
    speechWeights(await SafetensorsWeights.open(files), numPositions);
  return {
    path,
    shape,
    files,
    open: () => openBehind(shape.numPositions),
    openAsStored: () => openBehind(0),
  };
}
