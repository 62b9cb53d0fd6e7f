/** Models that see, Idefics 3 and SmolVLM: their towers, and how they want their images. */
import { z } from 'zod';

import type { TileCutting } from '../../images/cut-image.ts';
import { tileGrid } from '../../images/tiles.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import type { EncoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';
import { siglipSchema, siglipTower, type TowerConfig } from './siglip-tower.ts';
import {
  checked,
  type Normalization,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/**
 * Makes one token of neighbouring patches, `side` along each side: of all their channels by one layer or
 * by two, or of their mean.
 */
export type Connector =
  | { readonly kind: 'shuffle'; readonly side: number }
  | {
      readonly kind: 'mlp';
      readonly side: number;
      readonly activation: EncoderActivation;
      readonly bias: boolean;
      /** Epsilon of a normalization before the first; left out where there is none. */
      readonly normEps?: number;
    }
  | { readonly kind: 'pool'; readonly side: number; readonly normEps: number };

/** Facts that a graph over tiles depends on in addition to the weights. */
export interface TileShape extends Normalization {
  readonly kind: 'tiles';
  readonly tower: TowerConfig;
  /** Pixels of each side of a tile. */
  readonly tileSide: number;
  /** Whole patches along each side of it; what is left of a tile is not seen. */
  readonly patches: number;
  readonly connector: Connector;
  /** Whether an embedding follows those of each tile that ends a line; left out where none does. */
  readonly lineEnd?: true;
  /** Channels of the text model. */
  readonly textSize: number;
}

/** Texts that stand for an image in a prompt. */
export interface PlaceholderTexts {
  /** Token that embeddings of images take the place of; templates write one for each image. */
  readonly image: string;
  /** Before each tile, and after the last. */
  readonly around: string;
  /** Before the whole image. */
  readonly whole: string;
}

/** How a model sees images in tiles. */
export interface TileVision {
  readonly kind: 'tiles';
  readonly shape: TileShape;
  readonly cutting: TileCutting;
  readonly tokensPerTile: number;
  readonly texts: PlaceholderTexts;
  readonly imageTokenId: number;
}

const MODEL_TYPES = ['idefics3', 'smolvlm'] as const;

/** Constants of both processors. */
export const PLACEHOLDER_TEXTS: PlaceholderTexts = {
  image: '<image>',
  around: '<fake_token_around_image>',
  whole: '<global-img>',
};

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);

const configSchema = z.looseObject({
  image_token_id: z.int().nonnegative().default(128_257),
  scale_factor: side.default(2),
  vision_config: siglipSchema({ width: 1152, heads: 16, patch: 32 }),
});

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  do_image_splitting: z.boolean().default(true),
  ...normalizationFields({ mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] }),
  size: z.looseObject({ longest_edge: count }).default({ longest_edge: 1456 }),
  max_image_size: z.looseObject({ longest_edge: side }).default({ longest_edge: 364 }),
  resample: resampleField('lanczos'),
});

const processorSchema = z.looseObject({
  /** Tokens of a tile, where the processor says it. */
  image_seq_len: count.nullish(),
});

/** Whether a parsed config.json is one of a model that sees images in tiles. */
export function isTileConfig(config: unknown): boolean {
  const type = z.looseObject({ model_type: z.enum(MODEL_TYPES) });
  return type.safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseVisionConfig(files: VisionFiles, textSize: number): TileVision {
  const { scale_factor: shuffle, ...model } = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const { image_seq_len: stated } = checked(files.processor, processorSchema);
  const { origin } = files.config;
  const tower = siglipTower(model.vision_config, origin);
  const cutting = cuttingOf(images, files.images.origin);
  const { tileSide } = cutting;
  const patches = Math.floor(tileSide / tower.patchSide);
  if (patches === 0 || patches ** 2 > MODEL_LIMITS.imagePatches) {
    throw new ModelError(
      `${origin}: tiles of ${tileSide} pixels have 1 to ${MODEL_LIMITS.imagePatches} patches, not of ${tower.patchSide} pixels`,
    );
  }
  if (patches > tower.trainedPatches) {
    throw new ModelError(
      `${origin}: tiles of ${tileSide} pixels are larger than the images of image_size`,
    );
  }
  if (patches % shuffle !== 0) {
    throw new ModelError(
      `${origin}: ${patches} patches are no multiple of scale_factor ${shuffle}`,
    );
  }
  const tokensPerTile = (patches / shuffle) ** 2;
  if ((stated ?? tokensPerTile) !== tokensPerTile) {
    const { origin: from } = files.processor;
    throw new ModelError(`${from}: image_seq_len is ${stated}, and a tile has ${tokensPerTile}`);
  }
  const shape: TileShape = {
    kind: 'tiles',
    tower,
    tileSide,
    patches,
    ...normalizationOf(images),
    connector: { kind: 'shuffle', side: shuffle },
    textSize,
  };
  return {
    kind: 'tiles',
    shape,
    cutting,
    tokensPerTile,
    texts: PLACEHOLDER_TEXTS,
    imageTokenId: model.image_token_id,
  };
}

function cuttingOf(images: z.output<typeof imagesSchema>, origin: string): TileCutting {
  const cutting: TileCutting = {
    kind: 'tiles',
    longestEdge: images.size.longest_edge,
    tileSide: images.max_image_size.longest_edge,
    splits: images.do_image_splitting,
    resample: images.resample,
  };
  // None has more than a square.
  const { rows, columns } = tileGrid({ width: 1, height: 1 }, cutting);
  if (rows * columns < MODEL_LIMITS.imageTiles) return cutting;
  throw new ModelError(
    `${origin} cuts images into ${rows * columns} tiles; at most ${MODEL_LIMITS.imageTiles} are seen`,
  );
}
