import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildOptions } from '../../model/build/build-options.ts';
import { inspectSource, type ModelSource } from '../../model/build/model-source.ts';
import { prepareModel } from '../../model/build/prepare-model.ts';
import { createStagingDirectory } from '../../model/build/staging.ts';
import { ModelError } from '../../model/model-error.ts';
import { requirePlainLayers } from '../folder/checkpoint.ts';
import { TEXT_LENGTH } from '../plan.ts';
import { NUM_TOKENS, SEED } from './calibration-key.ts';
import { LayerwiseDecoder } from './layerwise-decoder.ts';
import { pickTexts, writeOwnTexts } from './own-texts.ts';
import { findStaticActivations, type FoundActivations } from './static-activations.ts';

type Build = Pick<BuildOptions, 'cacheDirectory' | 'maxModelLen' | 'threads'>;

export interface ActivationCalibration {
  /** As token ids; null has the model write its own, with a build in int8. */
  readonly texts: readonly Int32Array[] | null;
  readonly threads: number;
  readonly onProgress: (what: string, done: number, total: number) => void;
}

/**
 * Finds what int8-static has to know of a model's activations, over its own texts or given ones, one layer
 * in memory at a time.
 * @throws {ModelError} for an export, for experts, and for a family with learned positions or MLPs in
 *   parallel to the attention
 */
export async function calibrateActivations(
  source: ModelSource,
  build: Build,
  { texts, threads, onProgress }: ActivationCalibration,
): Promise<FoundActivations> {
  const model = await inspectSource(source, build.maxModelLen);
  if (model.kind === 'export') {
    throw new ModelError(`${model.path} is an ONNX export: int8-static takes safetensors or GGUF`);
  }
  const { config } = model;
  requirePlainLayers(config, 'int8-static');
  const length = Math.min(TEXT_LENGTH, config.maxPositionEmbeddings);
  const used =
    texts === null
      ? await ownTexts(source, build, { length, threads, bosTokenId: config.bosTokenId }, (...at) =>
          onProgress('writing texts to calibrate with', ...at),
        )
      : pickTexts(texts, { length, numTokens: NUM_TOKENS, seed: SEED });
  const weights = await model.open();
  // Next to builds, where what a crash leaves is removed.
  const folder = await createStagingDirectory(join(build.cacheDirectory, 'models', 'calibration'));
  try {
    return await findStaticActivations(
      { config, weights },
      used,
      (of) => new LayerwiseDecoder({ config, weights: of }, { longest: length, folder, threads }),
      (done, total) => onProgress('calibrating activations', done, total),
    );
  } finally {
    await weights.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface OwnTextOptions {
  readonly length: number;
  readonly threads: number;
  readonly bosTokenId: number | null;
}

async function ownTexts(
  source: ModelSource,
  build: Build,
  { length, threads, bosTokenId }: OwnTextOptions,
  onProgress: (done: number, total: number) => void,
): Promise<Int32Array[]> {
  const writer = await prepareModel(source, { ...build, precision: 'int8' });
  const numTexts = Math.ceil(NUM_TOKENS / length);
  return writeOwnTexts(writer, { numTexts, length, seed: SEED, bosTokenId, threads }, onProgress);
}
