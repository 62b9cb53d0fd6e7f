/** Section `image` of a model's chairlift.json: how the files of images become what the model takes. */
import { z } from 'zod';
import type { Preprocessing, Size } from '../../images/preprocess.ts';
import { RESAMPLES } from '../../images/resize.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';

const side = z.int().min(1).max(MODEL_LIMITS.imageSide);
const size = z.strictObject({ height: side, width: side });
const square = side.transform((each) => ({ height: each, width: each }));
const resampleNumber = z.int().min(0).max(4);
const perChannel = z.array(z.number()).length(3);

/** Fields have the names that preprocessor_config.json has. */
const fields = z.strictObject({
  size: z.union([size, z.strictObject({ shortest_edge: side })]).optional(),
  resample: z
    .union([z.enum(RESAMPLES), resampleNumber.transform((at) => RESAMPLES[at] ?? 'bilinear')])
    .default('bilinear'),
  /** The middle that is kept. */
  crop_size: z.union([square, size]).optional(),
  rescale_factor: z
    .number()
    .positive()
    .default(1 / 255),
  image_mean: perChannel.default([0, 0, 0]),
  image_std: perChannel
    .refine((all) => all.every((each) => each > 0), { error: 'expected numbers above 0' })
    .default([1, 1, 1]),
  channels: z.enum(['rgb', 'bgr']).default('rgb'),
  layout: z.enum(['NCHW', 'NHWC']).default('NCHW'),
  /** Which output has a number for each class; the first if left out. */
  output: z.string().min(1).optional(),
  /** From these numbers to scores. */
  function_to_apply: z.enum(['softmax', 'sigmoid', 'none']).default('softmax'),
  /** Classes that are answered where a request does not say. */
  top_k: z.int().min(1).default(5),
  /** File next to chairlift.json with the name of a class in each line. */
  labels: z.string().min(1).optional(),
});

export type ImageConfig = z.output<typeof fields>;

export const imageConfigSchema = fields.refine((config) => inputSizeOf(config) !== null, {
  error: 'expected a crop_size, or a size with height and width: what the model takes',
});

/** Size of what the model takes; null where it depends on the image. */
export function inputSizeOf({
  crop_size: crop,
  size: resized,
}: Pick<ImageConfig, 'crop_size' | 'size'>): Size | null {
  if (crop !== undefined) return crop;
  return resized !== undefined && 'height' in resized ? resized : null;
}

export function preprocessingOf(config: ImageConfig): Preprocessing {
  const { size: to } = config;
  return {
    resize: to !== undefined && 'shortest_edge' in to ? to.shortest_edge : (to ?? null),
    resample: config.resample,
    crop: config.crop_size ?? null,
    rescale: config.rescale_factor,
    mean: config.image_mean,
    std: config.image_std,
    channels: config.channels,
    layout: config.layout,
  };
}
