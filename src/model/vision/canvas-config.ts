/** Models that see a canvas of tiles, and all of the image as one, InternVL. */
import { z } from 'zod';

import { IMAGE_LIMITS } from '../../image-limits.ts';
import type { CanvasCutting } from '../../images/cut-image.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { encoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';
import { INTERN, seenPatches, siglipSchema, siglipTower } from './siglip-tower.ts';
import type { TileShape } from './vision-config.ts';
import {
  checked,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/** How a model sees a canvas of tiles. */
export interface CanvasVision {
  readonly kind: 'canvas';
  readonly shape: TileShape;
  readonly cutting: CanvasCutting;
  readonly tokensPerTile: number;
  readonly texts: CanvasTexts;
  readonly imageTokenId: number;
  /** Whether queries, keys and values have biases in checkpoints. */
  readonly attentionBias: boolean;
}

/** Texts that stand for an image in a prompt. */
export interface CanvasTexts {
  readonly before: string;
  /** Token that embeddings of images take the place of; templates write one for each image. */
  readonly image: string;
  readonly after: string;
}

/** Constants of the tokenizers. */
const TEXTS: CanvasTexts = { before: '<img>', image: '<IMG_CONTEXT>', after: '</img>' };

/** PyTorch's default, which the projector has. */
const PROJECTOR_EPS = 1e-5;

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);
/** A number, or twice the same one. */
const square = z.union([
  side,
  z
    .tuple([side, side])
    .refine(([height, width]) => height === width, { error: 'expected a square' })
    .transform(([height]) => height),
]);

const configSchema = z.looseObject({
  image_token_id: z.int().nonnegative().default(151_667),
  downsample_ratio: z.number().positive().max(1).default(0.5),
  projector_hidden_act: encoderActivation.default('gelu'),
  vision_feature_layer: z.literal(-1).default(-1),
  vision_feature_select_strategy: z.literal('default').default('default'),
  vision_config: siglipSchema({ width: 1024, heads: 16, patch: 14 }).extend({
    intermediate_size: count.max(MODEL_LIMITS.width).default(4096),
    num_hidden_layers: count.max(MODEL_LIMITS.layers).default(24),
    hidden_act: encoderActivation.default('gelu'),
    image_size: square.default(448),
    patch_size: square.default(14),
    attention_bias: z.boolean().default(false),
    // Those of the tower with 6B parameters are not built.
    use_qk_norm: z.literal(false).default(false),
    norm_type: z.literal('layer_norm').default('layer_norm'),
    use_absolute_position_embeddings: z.literal(true).default(true),
    use_mean_pooling: z.literal(true).default(true),
  }),
});

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  ...normalizationFields({
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  }),
  size: z.looseObject({ height: side, width: side }).default({ height: 384, width: 384 }),
  min_patches: count.max(MODEL_LIMITS.imageTiles - 1).default(1),
  max_patches: count.max(MODEL_LIMITS.imageTiles - 1).default(12),
  resample: resampleField('bicubic'),
});

const processorSchema = z.looseObject({
  /** Tokens of a tile, where the processor says it. */
  image_seq_length: count.nullish(),
});

/** Whether a parsed config.json is one of a model that sees a canvas of tiles. */
export function isCanvasConfig(config: unknown): boolean {
  return z.looseObject({ model_type: z.literal('internvl') }).safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseCanvasConfig(files: VisionFiles, textSize: number): CanvasVision {
  const model = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const { image_seq_length: stated } = checked(files.processor, processorSchema);
  const { origin } = files.config;
  const { vision_config: config } = model;
  const tower = { ...siglipTower(config, origin), style: INTERN, outputNorm: false };
  const { image_size: tileSide } = config;
  const { height, width } = images.size;
  if (height !== tileSide || width !== tileSide) {
    throw new ModelError(
      `${files.images.origin} has tiles of ${width} x ${height} pixels, and the model sees ${tileSide} x ${tileSide}`,
    );
  }
  const { min_patches: minTiles, max_patches: maxTiles, resample } = images;
  if (minTiles > maxTiles) {
    throw new ModelError(`${files.images.origin}: min_patches is more than max_patches`);
  }
  const { imagePixels } = IMAGE_LIMITS;
  if (maxTiles * tileSide ** 2 > imagePixels) {
    throw new ModelError(
      `${files.images.origin} has canvases of ${maxTiles * tileSide ** 2} pixels; at most ${imagePixels} are cut`,
    );
  }
  const patches = seenPatches(tower, origin, 'tiles');
  const shuffle = 1 / model.downsample_ratio;
  if (!Number.isInteger(shuffle) || patches % shuffle !== 0) {
    throw new ModelError(
      `${origin}: ${patches} patches along each side are no whole squares of downsample_ratio ${model.downsample_ratio}`,
    );
  }
  const tokensPerTile = (patches / shuffle) ** 2;
  if ((stated ?? tokensPerTile) !== tokensPerTile) {
    const { origin: from } = files.processor;
    throw new ModelError(`${from}: image_seq_length is ${stated}, and a tile has ${tokensPerTile}`);
  }
  const shape: TileShape = {
    kind: 'tiles',
    tower,
    tileSide,
    patches,
    ...normalizationOf(images),
    connector: {
      kind: 'mlp',
      side: shuffle,
      activation: model.projector_hidden_act,
      bias: true,
      normEps: PROJECTOR_EPS,
    },
    textSize,
  };
  return {
    kind: 'canvas',
    shape,
    cutting: { kind: 'canvas', tileSide, minTiles, maxTiles, resample },
    tokensPerTile,
    texts: TEXTS,
    imageTokenId: model.image_token_id,
    attentionBias: config.attention_bias,
  };
}
