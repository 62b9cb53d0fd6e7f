import { resolve } from 'node:path';

import { type DecoderConfig, parseDecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { type StoredPrecision, storedPrecision } from '../native/stored-precision.ts';
import { ggufFileType } from './file-type.ts';
import { readGgufConfig } from './gguf-config.ts';
import { GgufFile } from './gguf-file.ts';
import { GgufWeights } from './gguf-weights.ts';
import { rejectOtherTensors } from './other-tensors.ts';

/** A GGUF model: weights, configuration, tokenizer and chat template in one file, or in parts. */
export interface GgufCheckpoint {
  readonly kind: 'gguf';
  /** Absolute path of the file, or of one of its parts. */
  readonly path: string;
  readonly config: DecoderConfig;
  /** How it is quantized, such as `Q4_K_M`. */
  readonly fileType: string;
  /** Null where its layers are not all of a type whose blocks a product reads. */
  readonly stored: StoredPrecision | null;
  /** Absolute paths of all parts, in order. */
  readonly weightFiles: readonly string[];
  /** Opens the weights. @throws {ModelError} if they changed to something else */
  readonly open: () => Promise<WeightSource>;
}

/**
 * Finds out what a GGUF model is.
 * @param maxModelLen see parseDecoderConfig
 * @throws {ModelError} if it is damaged or not supported
 */
export async function inspectGguf(path: string, maxModelLen?: number): Promise<GgufCheckpoint> {
  const file = await GgufFile.open(resolve(path));
  try {
    const { config, architecture } = await configOf(file, maxModelLen);
    return {
      kind: 'gguf',
      path: resolve(path),
      config,
      fileType: ggufFileType(file),
      stored: storedPrecision(config, new GgufWeights(file, config, architecture)),
      weightFiles: file.paths,
      open: async () => new GgufWeights(await GgufFile.open(resolve(path)), config, architecture),
    };
  } finally {
    await file.close();
  }
}

async function configOf(file: GgufFile, maxModelLen: number | undefined) {
  const { architecture, json } = await readGgufConfig(file);
  const [origin = ''] = file.paths;
  const parsed = parseDecoderConfig(json, origin, maxModelLen);
  const config = { ...parsed, family: { ...parsed.family, ...architecture.form } };
  rejectOtherTensors(file, config, architecture);
  return { architecture, config };
}
