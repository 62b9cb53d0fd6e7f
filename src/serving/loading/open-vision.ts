/** From a model that sees to what computes its images. */
import type { Logger } from 'pino';
import { TENSOR_BATCHING } from '../../front/batching/default-batching.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import { ImagePool } from '../../front/images/image-pool.ts';
import { TensorModel } from '../../front/tensors/tensor-model.ts';
import { Vision, type VisionFormat } from '../../front/vision/vision.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { reasonOf } from '../../files/system-error.ts';
import { inLowDetail, withCells } from '../../images/cut-image.ts';
import { packTile } from '../../model/vision/packed-rows.ts';
import { shownImage } from '../../model/vision/placeholder.ts';
import { embeddingWidth } from '../../model/vision/tower-size.ts';
import { visionInputs } from '../../model/vision/vision-inputs.ts';
import type { GridVision } from '../../model/vision/grid-config.ts';
import type { LineVision } from '../../model/vision/line-config.ts';
import type { VisionConfig, VisionPart } from '../../model/vision/vision-part.ts';
import type { FoundKernels } from '../../ort/native-kernels.ts';
import type { Options } from '../../settings/options.ts';
import type { TextBuild } from './build-id.ts';
import { findNativeKernels } from '../choices/kernels.ts';
import { DOT } from './image-loader.ts';
import type { ModelPlan } from '../plan/model-plan.ts';

/** Tokens of an image that an encoder is given a step's time for; a large one takes minutes on a core. */
const TOKENS_OF_STEP = 256;
/** The same of patches of a tile. */
const PATCHES_OF_STEP = 1024;

export interface OpenVisionOptions {
  /** Name of the model, for the log. */
  readonly name: string;
  readonly part: VisionPart;
  readonly options: Options<'visionPrecision' | 'imageMaxTokens' | 'threads' | 'stepTimeout'>;
  readonly logger: Logger;
  readonly isShared: () => boolean;
  /** Reads images; null for a reader of its own. */
  readonly pool: ImagePool | null;
}

export interface OpenedVision {
  readonly vision: Vision;
  readonly encoder: Pick<TensorModel, 'memoryBytes' | 'pids'>;
  stop(): Promise<void>;
}

/** The part of a model that sees; null where images can't be served. */
export async function visionOf(
  model: string,
  plan: Pick<ModelPlan, 'chosen' | 'chosenDevice' | 'choice' | 'kernels' | 'options'>,
  logger: Logger,
  load: () => Promise<FoundKernels> = findNativeKernels,
): Promise<VisionPart | null> {
  const { vision } = plan.chosen;
  if (vision === null) return null;
  const problem = await blindness(vision, plan, load);
  if (problem === null) return vision;
  logger.warn({ model }, `${problem}: this model reads text`);
  return null;
}

/** Why a model takes no images as it is loaded; null where it does. */
async function blindness(
  { config }: VisionPart,
  {
    chosenDevice,
    choice,
    kernels,
    options,
  }: Pick<ModelPlan, 'chosenDevice' | 'choice' | 'kernels' | 'options'>,
  load: () => Promise<FoundKernels>,
): Promise<string | null> {
  const canTakeRows = chosenDevice.device.name === 'cpu' && choice.activationDtype === 'float32';
  if (!canTakeRows) return 'images are taken on the CPU alone';
  const takesEnds = config.kind === 'square' && config.seesWhole;
  if (!takesEnds || kernels.nativeKernels !== undefined) return null;
  if (options.kvCacheDtype === 'int8') {
    return "its images take our own kernels where --kv-cache-dtype is int8, and these are ONNX Runtime's";
  }
  const found = await load();
  return 'missing' in found ? `its images take our own kernels: ${found.missing}` : null;
}

/** Facts of the part that sees, besides its weights, that answers depend on. */
export function towerOf(
  { mmproj, config }: VisionPart,
  { visionPrecision: precision, imageMaxTokens }: OpenVisionOptions['options'],
): TextBuild['tower'] {
  return { mmproj, precision, maxTokens: config.shape.kind === 'grid' ? imageMaxTokens : null };
}

/**
 * @returns null, with a warning, where images can't be read
 * @throws EngineError when the encoder can't be built or loaded
 */
export async function openVision({
  name,
  part,
  options,
  logger,
  isShared,
  pool,
}: OpenVisionOptions): Promise<OpenedVision | null> {
  const images = pool ?? new ImagePool();
  const format = formatOf(part, options.imageMaxTokens);
  const problem = await problemWith(images, format);
  if (problem !== null) {
    if (pool === null) images.close();
    logger.warn({ model: name, problem }, 'this model reads text alone');
    return null;
  }
  const { visionPrecision: precision, threads, stepTimeout, imageMaxTokens } = options;
  const encoder = new TensorModel({
    source: {
      type: 'vision',
      path: part.path,
      mmproj: part.mmproj,
      hiddenSize: part.config.shape.textSize,
      precision: precision === 'auto' ? 'fp32' : precision,
      cacheDirectory: defaultCacheDirectory(),
    },
    threads,
    // A tile keeps all cores busy: more at once would only take more memory.
    batching: { ...TENSOR_BATCHING, maxBatchSize: 1, isShared },
    runTimeoutMs: stepTimeout * 1000 * stepsOf(part, imageMaxTokens),
    yieldsCores: true,
    onCrash: (description) =>
      logger.error({ model: name, description }, 'the vision encoder died; starting another'),
  });
  const stop = async (): Promise<void> => {
    if (pool === null) images.close();
    await encoder.stop();
  };
  try {
    await encoder.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { vision: new Vision({ format, pool: images, encoder }), encoder, stop };
}

/** Steps of a decoder that the largest image, or a tile, may take as long as. */
function stepsOf({ config }: VisionPart, maxTokens: number): number {
  const { shape } = config;
  if (shape.kind === 'grid') return Math.ceil(maxTokens / TOKENS_OF_STEP);
  return Math.ceil(shape.patches ** 2 / PATCHES_OF_STEP);
}

/** Reads an image: the first one would wait for a process, and without the decoder all would fail. */
async function problemWith(pool: ImagePool, { cutting }: VisionFormat): Promise<string | null> {
  try {
    const job = { file: DOT, cutting: inLowDetail(cutting), wantsPixels: false };
    await pool.tiles(job, { client: '', signal: NEVER_ABORTED });
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

function isInCells(config: VisionConfig): config is GridVision | LineVision {
  return config.kind === 'grid' || config.kind === 'lines';
}

function formatOf({ config }: VisionPart, maxTokens: number): VisionFormat {
  return {
    cutting: isInCells(config) ? withCells(config.cutting, maxTokens) : config.cutting,
    tokenId: config.imageTokenId,
    hiddenSize: embeddingWidth(config.shape),
    ...(config.kind === 'anyres' && {
      packing: {
        tokensPerPart: config.tokensPerTile + 1,
        pack: (packed, made, tile, grid) =>
          packTile(packed, made, tile, grid, config.shape.patches),
      },
    }),
    shown: (grid) => shownImage(grid, config),
    inputs: (pixels, grid) => visionInputs(pixels, grid, config.shape),
  };
}
