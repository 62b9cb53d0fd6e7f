/** From the folder of a model that embeds texts and images alike to what embeds its images. */
import type { Logger } from 'pino';
import { reasonOf } from '../../files/system-error.ts';
import type { ImagePool } from '../../front/images/image-pool.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import { ImageEncoder, type ImageTower } from '../../front/vision/image-encoder.ts';
import { TensorModel, type TensorModelOptions } from '../../front/tensors/tensor-model.ts';
import { inspectDual, readLogitScale } from '../../model/dual/dual-folder.ts';
import { numTokens } from '../../model/dual/image-graph.ts';
import type { EncoderPrecision } from '../../model/encoder/encoder-nodes.ts';
import { DOT } from './image-loader.ts';

export interface ImageTowerOptions extends Omit<TensorModelOptions, 'source'> {
  /** Name of the model, for the log. */
  readonly name: string;
  readonly folder: string;
  readonly precision: EncoderPrecision;
  readonly cacheDirectory: string;
  readonly pool: ImagePool;
  readonly logger: Logger;
}

export interface OpenedImageTower {
  readonly tower: ImageTower;
  /** Its process, which is not started yet. */
  readonly model: TensorModel;
  /** Facts besides its weights that vectors depend on. */
  readonly facts: string;
}

/**
 * @returns null for a model that takes texts alone; with a warning, where images can't be read
 * @throws ModelError when the folder is damaged
 */
export async function openImageTower({
  name,
  folder,
  precision,
  cacheDirectory,
  pool,
  logger,
  ...options
}: ImageTowerOptions): Promise<OpenedImageTower | null> {
  const images = await inspectDual(folder);
  if (images === null) return null;
  const { shape, preprocessing, probability } = images.config;
  const trial = { file: DOT, preprocessing, datatype: 'UINT8' } as const;
  // The first image would wait for a process, and without the decoder all would fail.
  const problem = await pool.numbers(trial, { client: '', signal: NEVER_ABORTED }).then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
  if (problem !== null) {
    logger.warn({ model: name, problem }, 'this model embeds texts alone');
    return null;
  }
  const source = { type: 'images', folder, precision, cacheDirectory } as const;
  const model = new TensorModel({ ...options, source });
  const tower = new ImageEncoder({
    pool,
    tower: model,
    preprocessing,
    probability,
    scale: await readLogitScale(images),
    imageSide: shape.imageSide,
    numTokens: numTokens(shape),
    dim: shape.dim,
  });
  return { tower, model, facts: JSON.stringify(images.config) };
}
