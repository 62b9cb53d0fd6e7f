/** Models that see tiles of an image in its own shape, and all of it as one: LLaVA-NeXT, and what LLaVA-OneVision has of it. */
import { z } from 'zod';

import { IMAGE_LIMITS } from '../../image-limits.ts';
import type { AnyresCutting } from '../../images/cut-image.ts';
import type { TileGrid } from '../../images/tiles.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { llavaSchema, llavaShape, llavaTower } from './llava-config.ts';
import { seenPatches } from './siglip-tower.ts';
import type { TileShape } from './vision-config.ts';
import {
  checked,
  normalizationFields,
  type ParsedFile,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/** How a model sees tiles that have margins, and lines across them. */
export interface AnyresVision {
  readonly kind: 'anyres';
  readonly shape: TileShape;
  readonly cutting: AnyresCutting;
  /** Without the embedding that ends a line. */
  readonly tokensPerTile: number;
  /** Token that embeddings of images take the place of; templates write one for each image. */
  readonly imageToken: string;
  readonly imageTokenId: number;
}

/** Canvases that images may be put on, at most. */
const MAX_CANVASES = 64;

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);
const canvases = z
  .array(z.tuple([count, count]))
  .min(1)
  .max(MAX_CANVASES);
const squareOf = (edge: number) => ({ height: edge, width: edge });
const square = z.union([
  side.transform(squareOf),
  z.looseObject({ shortest_edge: side }).transform(({ shortest_edge: edge }) => squareOf(edge)),
  z.object({ height: side, width: side }),
]);

/** Height and width of each. */
const USUAL = [
  [336, 672],
  [672, 336],
  [672, 672],
  [1008, 336],
  [336, 1008],
] satisfies [number, number][];

const configSchema = llavaSchema.extend({ image_grid_pinpoints: canvases.nullish() });

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  ...normalizationFields({
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  }),
  size: square.default(squareOf(224)),
  crop_size: square.nullish(),
  image_grid_pinpoints: canvases.default(USUAL),
  resample: resampleField('bicubic'),
});

const processorSchema = z.looseObject({
  image_token: z.string().min(1).nullish(),
  patch_size: side.nullish(),
});

/** Whether a parsed config.json is one of a model that sees tiles with margins. */
export function isAnyresConfig(config: unknown): boolean {
  return z.looseObject({ model_type: z.literal('llava_next') }).safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseAnyresConfig(files: VisionFiles, textSize: number): AnyresVision {
  const model = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const { image_token: stated, patch_size: patchSide } = checked(files.processor, processorSchema);
  const { origin } = files.config;
  const tower = llavaTower(model, origin);
  const { image_size: tileSide } = model.vision_config;
  requireSides(images, tileSide, files.images.origin);
  if ((patchSide ?? tower.patchSide) !== tower.patchSide) {
    throw new ModelError(
      `${files.processor.origin}: patch_size is ${patchSide}, and the model has ${tower.patchSide}`,
    );
  }
  const { resample } = images;
  if (resample === 'nearest') {
    throw new ModelError(`${files.images.origin}: images that are resized without a filter`);
  }
  const patches = seenPatches(tower, origin, 'tiles');
  const { image_grid_pinpoints: pinpoints } = images;
  const seen = model.image_grid_pinpoints ?? USUAL;
  if (JSON.stringify(seen) !== JSON.stringify(pinpoints)) {
    throw new ModelError(`${files.images.origin}: image_grid_pinpoints are not those of ${origin}`);
  }
  const shape: TileShape = {
    ...llavaShape(model, images, { tower, patches, textSize }),
    lineEnd: true,
  };
  return {
    kind: 'anyres',
    shape,
    cutting: {
      kind: 'anyres',
      tileSide,
      cells: patches,
      canvases: canvasesOf(pinpoints, tileSide, files.images),
      splits: true,
      resample,
    },
    tokensPerTile: patches ** 2,
    imageToken: stated ?? '<image>',
    imageTokenId: model.image_token_id ?? model.image_token_index ?? 32_000,
  };
}

/** @throws {ModelError} where tiles are not what the model sees */
function requireSides(
  { size, crop_size: crop }: z.output<typeof imagesSchema>,
  tileSide: number,
  origin: string,
): void {
  const sides = [size, crop ?? size].flatMap(({ height, width }) => [height, width]);
  const other = sides.find((each) => each !== tileSide);
  if (other === undefined) return;
  throw new ModelError(`${origin} has tiles of ${other} pixels, and the model sees ${tileSide}`);
}

function canvasesOf(
  pinpoints: readonly (readonly [number, number])[],
  tileSide: number,
  { origin }: ParsedFile,
): TileGrid[] {
  return pinpoints.map(([height, width]) => {
    const [rows, columns] = [height / tileSide, width / tileSide];
    if (!Number.isInteger(rows) || !Number.isInteger(columns)) {
      throw new ModelError(
        `${origin}: canvases of ${width} x ${height} are no whole tiles of ${tileSide} pixels`,
      );
    }
    const isHuge = height * width > IMAGE_LIMITS.imagePixels;
    if (isHuge || rows * columns >= MODEL_LIMITS.imageTiles) {
      throw new ModelError(
        `${origin}: canvases of ${width} x ${height} pixels are ${rows * columns} tiles; at most ${MODEL_LIMITS.imageTiles - 1} and ${IMAGE_LIMITS.imagePixels} pixels are cut`,
      );
    }
    return { rows, columns };
  });
}
