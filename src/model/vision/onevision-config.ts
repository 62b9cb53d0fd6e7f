/** Models that see tiles as LLaVA-NeXT does, but fewer tokens of many, and several images as one square each: LLaVA-OneVision. */
import { z } from 'zod';

import type { Color } from '../../images/pixels.ts';
import { ModelError } from '../model-error.ts';
import { type AnyresVision, parseAnyresConfig } from './anyres-config.ts';
import { checked, type ParsedFile, type VisionFiles } from './vision-files.ts';

const MODEL_TYPE = 'llava_onevision';

/** Sides of canvases, in tiles of 384 pixels. */
const SIDES = [384, 768, 1152, 1536, 1920, 2304];
const USUAL = SIDES.flatMap((height) => SIDES.map((width) => [height, width]));

/** Values that published folders leave out, where they are not LLaVA-NeXT's. */
const MODEL = {
  image_token_index: 151_646,
  vision_feature_layer: -1,
  vision_feature_select_strategy: 'full',
  image_grid_pinpoints: USUAL,
};
const IMAGES = { size: { height: 384, width: 384 }, image_grid_pinpoints: USUAL };

/** How many tiles' tokens an image has at most. */
const aspectRatio = z
  .string()
  .regex(/^anyres_max_[1-9]\d{0,2}$/, { error: 'expected anyres_max_ and a number' })
  .transform((text) => Number(text.slice('anyres_max_'.length)));

const configSchema = z.looseObject({
  vision_aspect_ratio: aspectRatio.default(9),
  vision_config: z.looseObject({ model_type: z.literal('siglip_vision_model') }),
});

const imagesSchema = z.looseObject({
  image_mean: z.array(z.number().min(0).max(1)).length(3).optional(),
});

const processorSchema = z.looseObject({
  num_image_tokens: z.int().positive().nullish(),
  vision_aspect_ratio: aspectRatio.nullish(),
});

/** Pillow's color of CLIP's mean. */
const USUAL_MARGINS: Color = [122, 116, 104];

/** Whether a parsed config.json is one of LLaVA-OneVision. */
export function isOnevisionConfig(config: unknown): boolean {
  return z.looseObject({ model_type: z.literal(MODEL_TYPE) }).safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseOnevisionConfig(files: VisionFiles, textSize: number): AnyresVision {
  const { vision_aspect_ratio: maxTiles } = checked(files.config, configSchema);
  const { image_mean: mean } = checked(files.images, imagesSchema);
  const { num_image_tokens: tokens, vision_aspect_ratio: stated } = checked(
    files.processor,
    processorSchema,
  );
  const { origin } = files.processor;
  const vision = parseAnyresConfig(
    { ...files, config: withUsual(files.config, MODEL), images: withUsual(files.images, IMAGES) },
    textSize,
  );
  if ((stated ?? maxTiles) !== maxTiles) {
    throw new ModelError(`${origin}: vision_aspect_ratio is not that of ${files.config.origin}`);
  }
  const { tokensPerTile } = vision;
  if ((tokens ?? tokensPerTile) !== tokensPerTile) {
    throw new ModelError(
      `${origin}: num_image_tokens is ${tokens}, and a tile has ${tokensPerTile}`,
    );
  }
  const [red = 0, green = 0, blue = 0] = (mean ?? []).map((share) => Math.trunc(share * 255));
  const margins: Color = mean === undefined ? USUAL_MARGINS : [red, green, blue];
  return { ...vision, cutting: { ...vision.cutting, maxTiles, margins } };
}

function withUsual({ json, origin }: ParsedFile, usual: object): ParsedFile {
  return { json: { ...usual, ...Object(json) }, origin };
}
