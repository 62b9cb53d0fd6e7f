/** Models that embed texts and images alike, CLIP and SigLIP: their image towers, and how these want images. */
import { z } from 'zod';
import type { Preprocessing, Size } from '../../images/preprocess.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import type { LayersConfig } from '../encoder/encoder-shape.ts';
import { dualActivation, dualNames } from '../encoder/families/dual.ts';
import { commonShape, WITH_BIASES, wholeTexts } from '../encoder/families/sizes.ts';
import { ModelError } from '../model-error.ts';
import {
  checked,
  type Normalization,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from '../vision/vision-files.ts';

/** Facts that the graph of an image tower depends on in addition to the weights. */
export interface ImageShape extends Normalization {
  readonly layers: LayersConfig;
  /** Pixels of each side of an image, and of a patch. */
  readonly imageSide: number;
  readonly patchSide: number;
  /** Patches along each side; what is left of an image is not seen. */
  readonly patches: number;
  /** Dimensions of a vector. */
  readonly dim: number;
  /** Where the vector is from: a token before the patches, projected, or attention of one query to all. */
  readonly pooling: 'class token' | 'attention';
}

/** How a model sees. */
export interface DualConfig {
  readonly shape: ImageShape;
  /** From an image to bytes, which the graph normalizes. */
  readonly preprocessing: Preprocessing;
  /** From logits of an image and texts to how likely each text is. */
  readonly probability: 'softmax' | 'sigmoid';
}

/** Tensors of an image tower. */
export const IMAGE_TOWER = 'vision_model';

const count = z.int().positive();
const width = count.max(MODEL_LIMITS.width);
const side = count.max(MODEL_LIMITS.imageSide);

/** By Transformers' defaults: published configurations leave out what is equal to them. */
function towerFields(usual: {
  patch: number;
  activation: 'quick_gelu' | 'gelu_tanh';
  eps: number;
}) {
  return z.looseObject({
    hidden_size: width.default(768),
    intermediate_size: width.default(3072),
    num_hidden_layers: count.max(MODEL_LIMITS.layers).default(12),
    num_attention_heads: count.max(MODEL_LIMITS.heads).default(12),
    num_channels: z.literal(3).default(3),
    image_size: side.default(224),
    patch_size: side.default(usual.patch),
    hidden_act: dualActivation.default(usual.activation),
    layer_norm_eps: z.number().positive().default(usual.eps),
    vision_use_head: z.literal(true, 'a tower without a head gives no vectors').default(true),
  });
}

const configSchema = z.discriminatedUnion('model_type', [
  z.looseObject({
    model_type: z.literal('clip'),
    projection_dim: width.default(512),
    vision_config: towerFields({ patch: 32, activation: 'quick_gelu', eps: 1e-5 }).prefault({}),
  }),
  z.looseObject({
    model_type: z.literal('siglip'),
    vision_config: towerFields({ patch: 16, activation: 'gelu_tanh', eps: 1e-6 }).prefault({}),
  }),
]);
type Config = z.output<typeof configSchema>;

const CLIP_NORMALIZATION = {
  mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
  std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
};
const SIGLIP_NORMALIZATION = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };

const square = side.transform((each): Size => ({ width: each, height: each }));
const whole = z.looseObject({ width: side, height: side });

/** preprocessor_config.json, or the same inside of processor_config.json. */
function imagesSchema(isClip: boolean) {
  const shortest = z.union([
    side,
    z.looseObject({ shortest_edge: side }).transform((each) => each.shortest_edge),
  ]);
  const size: z.ZodType<number | Size> = isClip
    ? z.union([whole, shortest], { error: 'expected a shortest_edge, or width and height' })
    : z.union([whole, square], { error: 'expected width and height' });
  return z.looseObject({
    do_resize: z.boolean().default(true),
    do_center_crop: z.boolean().default(isClip),
    ...normalizationFields(isClip ? CLIP_NORMALIZATION : SIGLIP_NORMALIZATION),
    size: size.default(isClip ? 224 : { width: 224, height: 224 }),
    crop_size: z.union([whole, square]).default({ width: 224, height: 224 }),
    resample: resampleField('bicubic'),
  });
}

/**
 * Reads what a folder says of its images.
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseDualConfig(files: VisionFiles): DualConfig {
  const config = checked(files.config, configSchema);
  const isClip = config.model_type === 'clip';
  const images = checked(files.images, imagesSchema(isClip));
  const shape = { ...shapeOf(config, files.config.origin), ...normalizationOf(images) };
  const crop = images.do_center_crop ? sizeOf(images.crop_size) : null;
  const resize = images.do_resize
    ? typeof images.size === 'number'
      ? images.size
      : sizeOf(images.size)
    : null;
  requireSize(shape.imageSide, resize, crop, files.images.origin);
  return {
    shape,
    preprocessing: {
      resize,
      resample: images.resample,
      crop,
      cropRounding: 'down',
      rescale: 1,
      mean: [0, 0, 0],
      std: [1, 1, 1],
      channels: 'rgb',
      layout: 'NHWC',
    },
    probability: isClip ? 'softmax' : 'sigmoid',
  };
}

function sizeOf({ width: across, height }: Size): Size {
  return { width: across, height };
}

/** @throws {ModelError} unless images become what the tower takes, and nothing is cut out beside them */
function requireSize(
  imageSide: number,
  resize: number | Size | null,
  crop: Size | null,
  origin: string,
): void {
  const made = crop ?? (typeof resize === 'number' ? null : resize);
  const least = typeof resize === 'number' ? { width: resize, height: resize } : resize;
  const isSeen = made?.width === imageSide && made.height === imageSide;
  const isWhole = least !== null && least.width >= imageSide && least.height >= imageSide;
  if (isSeen && isWhole) return;
  throw new ModelError(
    `${origin}: images must become ${imageSide} x ${imageSide} pixels, which is image_size, by size and crop_size`,
  );
}

function shapeOf(config: Config, origin: string): Omit<ImageShape, keyof Normalization> {
  const { vision_config: tower, model_type: type } = config;
  const patches = Math.floor(tower.image_size / tower.patch_size);
  if (patches === 0 || patches ** 2 > MODEL_LIMITS.imagePatches) {
    throw new ModelError(
      `${origin}: images of ${tower.image_size} pixels have 1 to ${MODEL_LIMITS.imagePatches} patches, not of ${tower.patch_size} pixels`,
    );
  }
  const sizes = { ...tower, vocab_size: 1, max_position_embeddings: patches ** 2 + 1 };
  return {
    layers: {
      ...commonShape(sizes, origin),
      norm: { kind: 'layer', epsilon: tower.layer_norm_eps, hasBias: true },
      activation: tower.hidden_act,
      layers: wholeTexts(tower.num_hidden_layers),
      names: dualNames(IMAGE_TOWER),
      biases: WITH_BIASES,
    },
    imageSide: tower.image_size,
    patchSide: tower.patch_size,
    patches,
    dim: type === 'clip' ? config.projection_dim : tower.hidden_size,
    pooling: type === 'clip' ? 'class token' : 'attention',
  };
}
