/** Models that see images in their own size, line by line: Pixtral's tower in Mistral 3 and in LLaVA. */
import { z } from 'zod';

import type { LineCutting } from '../../images/cut-image.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { encoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';
import { gridActivation } from './grid-config.ts';
import { type GridShape, type GridTower, requireHeads } from './grid-shape.ts';
import {
  checked,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/** How a model sees images in lines of tokens, with one of text after each. */
export interface LineVision {
  readonly kind: 'lines';
  readonly shape: GridShape;
  readonly cutting: LineCutting;
  readonly texts: LineTexts;
  readonly imageTokenId: number;
}

/** Texts that stand for an image in a prompt. */
export interface LineTexts {
  /** Token that embeddings of images take the place of; templates write one for each image. */
  readonly image: string;
  readonly lineEnd: string;
  /** After the last line. */
  readonly end: string;
}

const count = z.int().positive();
const width = count.max(MODEL_LIMITS.width);
const side = count.max(MODEL_LIMITS.imageSide);

const towerSchema = z.looseObject({
  model_type: z.literal('pixtral'),
  hidden_size: width.default(1024),
  intermediate_size: width.default(4096),
  num_hidden_layers: count.max(MODEL_LIMITS.layers).default(24),
  num_attention_heads: count.max(MODEL_LIMITS.heads).default(16),
  num_channels: z.literal(3).default(3),
  patch_size: side.default(16),
  hidden_act: gridActivation.default('gelu'),
  rope_theta: z.number().positive().nullish(),
  rope_parameters: z.looseObject({ rope_theta: z.number().positive().nullish() }).nullish(),
});

const shared = {
  image_token_index: z.int().nonnegative().nullish(),
  image_token_id: z.int().nonnegative().nullish(),
  projector_hidden_act: encoderActivation.default('gelu'),
  vision_config: towerSchema,
};

const configSchema = z.discriminatedUnion('model_type', [
  z.looseObject({
    ...shared,
    model_type: z.literal('mistral3'),
    multimodal_projector_bias: z.boolean().default(false),
    // The layer whose sum is seen, counted from the last.
    vision_feature_layer: z.int().max(-1).default(-1),
    spatial_merge_size: side.default(2),
    text_config: z.looseObject({ rms_norm_eps: z.number().positive().default(1e-6) }).default({
      rms_norm_eps: 1e-5,
    }),
  }),
  z.looseObject({
    ...shared,
    model_type: z.literal('llava'),
    multimodal_projector_bias: z.boolean().default(true),
    vision_feature_layer: z.int().max(-1).default(-2),
    vision_feature_select_strategy: z.literal('full'),
  }),
]);

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  do_center_crop: z.literal(false).nullish(),
  ...normalizationFields({
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  }),
  size: z.looseObject({ longest_edge: side }).default({ longest_edge: 1024 }),
  resample: resampleField('bicubic'),
});

const processorSchema = z.looseObject({
  /** Where the processor says them. */
  patch_size: count.nullish(),
  spatial_merge_size: count.nullish(),
  image_token: z.string().min(1).nullish(),
  image_break_token: z.string().min(1).nullish(),
  image_end_token: z.string().min(1).nullish(),
});

/** Whether a parsed config.json is one of a model with Pixtral's tower. */
export function isLineConfig(config: unknown): boolean {
  const type = z.looseObject({
    model_type: z.enum(['mistral3', 'llava']),
    vision_config: z.looseObject({ model_type: z.literal('pixtral') }),
  });
  return type.safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseLineConfig(files: VisionFiles, textSize: number): LineVision {
  const model = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const processor = checked(files.processor, processorSchema);
  const isMerged = model.model_type === 'mistral3';
  const merge = isMerged ? model.spatial_merge_size : 1;
  const tower = towerOf(model, files.config.origin);
  const stated = [processor.patch_size ?? tower.patchSide, processor.spatial_merge_size ?? merge];
  if (stated.join() !== [tower.patchSide, merge].join()) {
    throw new ModelError(
      `${files.processor.origin} is for patches of other sizes (${stated.join(', ')}) than the model's (${tower.patchSide}, ${merge})`,
    );
  }
  const maxCells = Math.floor(MODEL_LIMITS.imagePatches / merge ** 2);
  if (maxCells === 0) {
    throw new ModelError(
      `${files.config.origin}: a token has ${merge ** 2} patches; at most ${MODEL_LIMITS.imagePatches} are seen`,
    );
  }
  const connector = {
    kind: 'projector',
    mergerEps: isMerged ? model.text_config.rms_norm_eps : null,
    activation: model.projector_hidden_act,
    bias: model.multimodal_projector_bias,
  } as const;
  const { longest_edge: longestEdge } = images.size;
  const { patchSide } = tower;
  const { resample } = images;
  return {
    kind: 'lines',
    shape: { kind: 'grid', tower, merge, connector, ...normalizationOf(images), textSize },
    cutting: { kind: 'lines', patchSide, merge, longestEdge, maxCells, resample },
    texts: {
      image: processor.image_token ?? '[IMG]',
      lineEnd: processor.image_break_token ?? '[IMG_BREAK]',
      end: processor.image_end_token ?? '[IMG_END]',
    },
    imageTokenId: model.image_token_id ?? model.image_token_index ?? 10,
  };
}

/** The layers up to the one whose sum is seen. */
function towerOf(model: z.output<typeof configSchema>, origin: string): GridTower {
  const { vision_config: config, vision_feature_layer: layer } = model;
  const numLayers = config.num_hidden_layers + 1 + layer;
  if (numLayers < 1) {
    throw new ModelError(`${origin}: the tower has no layer ${layer} (vision_feature_layer)`);
  }
  const tower: GridTower = {
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    numLayers,
    numHeads: config.num_attention_heads,
    activation: config.hidden_act,
    norms: 'rms',
    normEps: 1e-5,
    inputNorm: true,
    bias: false,
    tensors: {
      attention: ['q_proj', 'k_proj', 'v_proj'],
      first: ['gate_proj', 'up_proj'],
      down: 'down_proj',
    },
    ropeTheta: config.rope_theta ?? config.rope_parameters?.rope_theta ?? 10_000,
    rotation: 'in turns',
    patchSide: config.patch_size,
    frames: 1,
    windows: null,
    tableSide: null,
    deepLayers: [],
  };
  requireHeads(tower, origin);
  return tower;
}
