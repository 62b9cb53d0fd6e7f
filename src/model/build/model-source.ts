import { adapterFiles, LoraAdapter } from '../adapters/lora-adapter.ts';
import { MergedWeights } from '../adapters/merged-weights.ts';
import type { ExportFolder } from '../export/export-folder.ts';
import { type DecoderConfig, parseDecoderConfig } from '../huggingface/config.ts';
import { inspectModelFolder } from '../folder/model-folder.ts';
import { RandomWeights } from '../huggingface/random-weights.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import type { TensorFactors } from '../static/smoothed-weights.ts';

/** Source of a build: a model folder, or a shape (a parsed config.json) with random weights. */
export type ModelSource =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** Folder of a LoRA adapter that is added to its weights. */
      readonly adapter?: string | undefined;
    }
  | { readonly kind: 'random'; readonly config: unknown; readonly seed: number };

/** A model as a thread opens it. */
export interface ThreadedModel {
  readonly source: ModelSource;
  /** See parseDecoderConfig. */
  readonly maxModelLen: number | undefined;
  /** Factors that its tensors are multiplied by. */
  readonly factors: TensorFactors;
}

/** A model that graphs are built of. */
export interface Checkpoint {
  readonly kind: 'checkpoint';
  readonly config: DecoderConfig;
  /**
   * Origin of its weights, an adapter's included: absolute paths of files, or the seed of random ones.
   */
  readonly origin: readonly string[] | { readonly seed: number };
  /** Opens the weights. @throws {ModelError} if they are damaged */
  readonly open: () => Promise<WeightSource>;
}

/**
 * Finds out what a source is.
 * @param maxModelLen see parseDecoderConfig
 * @throws {ModelError} if it is missing, damaged or not supported
 */
export async function inspectSource(
  source: ModelSource,
  maxModelLen: number | undefined,
): Promise<Checkpoint | ExportFolder> {
  if (source.kind === 'random') {
    const { seed } = source;
    const config = parseDecoderConfig(source.config, 'the configuration', maxModelLen);
    const open = async () => new RandomWeights(seed);
    return { kind: 'checkpoint', config, origin: { seed }, open };
  }
  const folder = await inspectModelFolder(source.path, maxModelLen);
  const { adapter } = source;
  if (folder.kind === 'export') {
    if (adapter === undefined) return folder;
    throw new ModelError(
      `${folder.path} is an ONNX export: an adapter needs a model in safetensors or GGUF`,
    );
  }
  const { config, weightFiles, open } = folder;
  if (adapter === undefined) return { kind: 'checkpoint', config, origin: weightFiles, open };
  return {
    kind: 'checkpoint',
    config,
    origin: [...weightFiles, ...(await adapterFiles(adapter))],
    open: () => openMerged(adapter, config, open),
  };
}

async function openMerged(
  adapter: string,
  config: DecoderConfig,
  open: Checkpoint['open'],
): Promise<WeightSource> {
  const opened = await LoraAdapter.open(adapter);
  try {
    return new MergedWeights(await open(), opened, config);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
