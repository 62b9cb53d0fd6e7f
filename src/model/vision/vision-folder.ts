import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isMlxConfig } from '../huggingface/mlx-quantization.ts';
import { readJson } from '../huggingface/json-file.ts';
import { SafetensorsWeights, weightFiles } from '../huggingface/safetensors.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { isGguf } from '../gguf/gguf-names.ts';
import { inspectMmproj } from './mmproj.ts';
import { isAnyresConfig, parseAnyresConfig } from './anyres-config.ts';
import { isCanvasConfig, parseCanvasConfig } from './canvas-config.ts';
import { internWeights } from './intern-weights.ts';
import { isGridConfig, parseGridConfig } from './grid-config.ts';
import { isLineConfig, parseLineConfig } from './line-config.ts';
import { isLlavaConfig, parseLlavaConfig } from './llava-config.ts';
import { isOnevisionConfig, parseOnevisionConfig } from './onevision-config.ts';
import { isSquareConfig, parseSquareConfig } from './square-config.ts';
import { pixtralWeights } from './pixtral-weights.ts';
import { isTileConfig, parseVisionConfig } from './vision-config.ts';
import { readVisionFiles } from './read-vision-files.ts';
import type { VisionFiles } from './vision-files.ts';
import type { VisionConfig, VisionPart } from './vision-part.ts';

/** Whether a folder's text model takes images. @throws {ModelError} as inspectVision */
export async function canSee(path: string): Promise<boolean> {
  return (await inspectVision(path, 0)) !== null;
}

/**
 * Finds out what a text model sees.
 * @param path absolute, of a folder or a GGUF file
 * @param textSize channels of the text model
 * @param mmproj for a GGUF model the file with the part that sees; looked for beside it if null
 * @returns null for one that takes text alone, or does not say how it wants its images
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export async function inspectVision(
  path: string,
  textSize: number,
  mmproj: string | null = null,
): Promise<VisionPart | null> {
  if (isGguf(path)) return inspectMmproj(path, textSize, mmproj);
  const names = await readdir(path);
  if (!names.includes('config.json')) return null;
  const stated = await readJson(join(path, 'config.json'));
  // Parts that see are in another form there, and left out by many.
  const parse = isMlxConfig(stated) ? null : parserOf(stated);
  if (parse === null) return null;
  const told = await readVisionFiles(path, names);
  if (told === null) return null;
  const files = await weightFiles(path, names);
  const config = parse(told, textSize);
  const open = async (): Promise<WeightSource> => {
    const weights = await SafetensorsWeights.open(files);
    if (config.kind === 'canvas') return internWeights(weights, config);
    return config.kind === 'lines' ? pixtralWeights(weights) : weights;
  };
  return { path, mmproj: null, config, files, open };
}

/** Finds what reads the files of a model by its config.json; null where it takes text alone. */
function parserOf(
  config: unknown,
): ((files: VisionFiles, textSize: number) => VisionConfig) | null {
  if (isTileConfig(config)) return parseVisionConfig;
  if (isGridConfig(config)) return parseGridConfig;
  if (isLineConfig(config)) return parseLineConfig;
  if (isLlavaConfig(config)) return parseLlavaConfig;
  if (isAnyresConfig(config)) return parseAnyresConfig;
  if (isOnevisionConfig(config)) return parseOnevisionConfig;
  if (isCanvasConfig(config)) return parseCanvasConfig;
  return isSquareConfig(config) ? parseSquareConfig : null;
}
