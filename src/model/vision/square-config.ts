/** Models that see every image as one square, Gemma 3. */
import { z } from 'zod';

import type { CropCutting, SquareCutting } from '../../images/cut-image.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { seenPatches, siglipSchema, siglipTower } from './siglip-tower.ts';
import type { TileShape } from './vision-config.ts';
import {
  checked,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/** How a model sees images as squares. */
export interface SquareVision {
  readonly kind: 'square';
  /** A square is one tile. */
  readonly shape: TileShape;
  readonly cutting: SquareCutting | CropCutting;
  readonly tokensPerTile: number;
  /** Whether attention of its text model within an image is not causal. */
  readonly seesWhole: boolean;
  readonly texts: SquareTexts;
  readonly imageTokenId: number;
}

/** Texts that stand for an image in a prompt. */
export interface SquareTexts {
  /** Templates write it for each image. */
  readonly mark: string;
  readonly before: string;
  /** Token that embeddings of images take the place of. */
  readonly image: string;
  readonly after: string;
}

/** Constants of the processor and its tokenizer. */
const TEXTS: SquareTexts = {
  mark: '<start_of_image>',
  before: '\n\n<start_of_image>',
  image: '<image_soft_token>',
  after: '<end_of_image>\n\n',
};

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);

const configSchema = z.looseObject({
  image_token_index: z.int().nonnegative().default(262_144),
  mm_tokens_per_image: count.max(MODEL_LIMITS.imagePatches).default(256),
  vision_config: siglipSchema({ width: 768, heads: 12, patch: 16 }),
});

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  do_pan_and_scan: z.literal(false).nullish(),
  ...normalizationFields({ mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] }),
  size: z.looseObject({ height: side, width: side }).default({ height: 224, width: 224 }),
  resample: resampleField('bilinear'),
});

const processorSchema = z.looseObject({
  /** Tokens of an image, where the processor says it. */
  image_seq_length: count.nullish(),
});

/** Whether a parsed config.json is one of a model that sees images as squares. */
export function isSquareConfig(config: unknown): boolean {
  return z.looseObject({ model_type: z.literal('gemma3') }).safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseSquareConfig(files: VisionFiles, textSize: number): SquareVision {
  const { mm_tokens_per_image: tokensPerTile, ...model } = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const { image_seq_length: stated } = checked(files.processor, processorSchema);
  const { origin } = files.config;
  const tower = siglipTower(model.vision_config, origin);
  const { image_size: tileSide } = model.vision_config;
  const { height, width } = images.size;
  if (height !== tileSide || width !== tileSide) {
    throw new ModelError(
      `${files.images.origin} has images of ${width} x ${height} pixels, and the model sees ${tileSide} x ${tileSide}`,
    );
  }
  const patches = seenPatches(tower, origin, 'images');
  const tokens = Math.sqrt(tokensPerTile);
  if (patches % tokens !== 0) {
    throw new ModelError(
      `${origin}: ${patches} patches along each side are no ${tokensPerTile} squares (mm_tokens_per_image)`,
    );
  }
  if ((stated ?? tokensPerTile) !== tokensPerTile) {
    throw new ModelError(
      `${files.processor.origin}: image_seq_length is ${stated}, and an image has ${tokensPerTile} tokens`,
    );
  }
  const connector = { kind: 'pool', side: patches / tokens, normEps: tower.layerNormEps } as const;
  const shape = { tower, tileSide, patches, ...normalizationOf(images), connector, textSize };
  return {
    kind: 'square',
    shape: { kind: 'tiles', ...shape },
    cutting: { kind: 'square', side: tileSide, resample: images.resample },
    tokensPerTile,
    seesWhole: true,
    texts: TEXTS,
    imageTokenId: model.image_token_index,
  };
}
