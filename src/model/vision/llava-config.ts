/** Models that see every image as one square by a tower of its own kind, LLaVA 1.5 and those like it. */
import { z } from 'zod';

import type { CropCutting, SquareCutting } from '../../images/cut-image.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { encoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';
import {
  CLIP,
  clipSchema,
  seenPatches,
  siglipSchema,
  siglipTower,
  type TowerConfig,
} from './siglip-tower.ts';
import type { SquareVision } from './square-config.ts';
import type { TileShape } from './vision-config.ts';
import {
  checked,
  normalizationFields,
  type NormalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);

const towerSchema = z.discriminatedUnion('model_type', [
  clipSchema().extend({ model_type: z.literal('clip_vision_model') }),
  siglipSchema({ width: 768, heads: 12, patch: 16 }).extend({
    model_type: z.literal('siglip_vision_model'),
  }),
]);

/** LLaVA's, with a tower of CLIP or SigLIP. */
export const llavaSchema = z.looseObject({
  image_token_index: z.int().nonnegative().nullish(),
  image_token_id: z.int().nonnegative().nullish(),
  projector_hidden_act: encoderActivation.default('gelu'),
  multimodal_projector_bias: z.boolean().default(true),
  // The layer whose sum is seen, counted from the last.
  vision_feature_layer: z.int().max(-1).default(-2),
  vision_feature_select_strategy: z.enum(['default', 'full']).default('default'),
  vision_config: towerSchema,
});

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  do_pad: z.literal(false).nullish(),
  do_center_crop: z.boolean().nullish(),
  ...normalizationFields({
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  }),
  size: z.union([
    z.looseObject({ shortest_edge: side }).transform(({ shortest_edge: edge }) => edge),
    z.looseObject({ height: side, width: side }),
    side,
  ]),
  crop_size: z.union([side, z.looseObject({ height: side, width: side })]).nullish(),
  resample: resampleField('bicubic'),
});

const processorSchema = z.looseObject({
  image_token: z.string().min(1).nullish(),
});

/** Whether a parsed config.json is one of LLaVA with a tower over squares. */
export function isLlavaConfig(config: unknown): boolean {
  const tower = z.looseObject({
    model_type: z.enum(['clip_vision_model', 'siglip_vision_model']),
  });
  const type = z.looseObject({ model_type: z.literal('llava'), vision_config: tower });
  return type.safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseLlavaConfig(files: VisionFiles, textSize: number): SquareVision {
  const model = checked(files.config, llavaSchema);
  const images = checked(files.images, imagesSchema);
  const { image_token: stated } = checked(files.processor, processorSchema);
  const tower = llavaTower(model, files.config.origin);
  const cutting = cuttingOf(images, files.images.origin);
  const { image_size: tileSide } = model.vision_config;
  if (cutting.side !== tileSide) {
    throw new ModelError(
      `${files.images.origin} has images of ${cutting.side} pixels, and the model sees ${tileSide}`,
    );
  }
  const patches = seenPatches(tower, files.config.origin, 'images');
  const mark = stated ?? '<image>';
  return {
    kind: 'square',
    shape: llavaShape(model, images, { tower, patches, textSize }),
    cutting,
    tokensPerTile: patches ** 2,
    seesWhole: false,
    texts: { mark, before: '', image: mark, after: '' },
    imageTokenId: model.image_token_id ?? model.image_token_index ?? 32_000,
  };
}

/**
 * The layers up to the one whose sum is seen.
 * @throws {ModelError} naming the file as `origin`
 */
export function llavaTower(model: z.output<typeof llavaSchema>, origin: string): TowerConfig {
  const { vision_config: config, vision_feature_layer: layer } = model;
  const isClip = config.model_type === 'clip_vision_model';
  const strategy = isClip ? 'default' : 'full';
  if (model.vision_feature_select_strategy !== strategy) {
    throw new ModelError(
      `${origin}: vision_feature_select_strategy "${model.vision_feature_select_strategy}" is not supported for ${config.model_type} (supported: ${strategy})`,
    );
  }
  const tower = siglipTower(config, origin);
  const numLayers = tower.numLayers + 1 + layer;
  if (numLayers < 1) {
    throw new ModelError(`${origin}: the tower has no layer ${layer} (vision_feature_layer)`);
  }
  const style = isClip ? CLIP : tower.style;
  return { ...tower, numLayers, style, outputNorm: false };
}

/** @param patches along a tile's side */
export function llavaShape(
  model: z.output<typeof llavaSchema>,
  images: NormalizationFields,
  { tower, patches, textSize }: Pick<TileShape, 'tower' | 'patches' | 'textSize'>,
): TileShape {
  return {
    kind: 'tiles',
    tower,
    tileSide: model.vision_config.image_size,
    patches,
    ...normalizationOf(images),
    connector: {
      kind: 'mlp',
      side: 1,
      activation: model.projector_hidden_act,
      bias: model.multimodal_projector_bias,
    },
    textSize,
  };
}

function cuttingOf(
  images: z.output<typeof imagesSchema>,
  origin: string,
): SquareCutting | CropCutting {
  const { size, resample, crop_size: crop } = images;
  if (typeof size !== 'number') {
    if (size.height === size.width && images.do_center_crop !== true) {
      return { kind: 'square', side: size.height, resample };
    }
    throw new ModelError(`${origin}: images are no squares of ${size.width} x ${size.height}`);
  }
  const [width, height] = typeof crop === 'number' ? [crop, crop] : [crop?.width, crop?.height];
  const isSquare = width !== undefined && width === height && width <= size;
  if (images.do_center_crop === false || !isSquare) {
    throw new ModelError(
      `${origin}: images with a shortest_edge of ${size} need a crop_size that is a square of at most as much`,
    );
  }
  return { kind: 'crop', shortestEdge: size, side: width, resample };
}
