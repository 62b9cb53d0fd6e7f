/** Models that see images in about their own size, Qwen2-VL, Qwen2.5-VL and Qwen3-VL. */
import { z } from 'zod';

import type { GridCutting } from '../../images/cut-image.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { type GridMerger, type GridShape, type GridTower, requireHeads } from './grid-shape.ts';
import {
  checked,
  normalizationFields,
  normalizationOf,
  resampleField,
  type VisionFiles,
} from './vision-files.ts';

/** How a model sees images in about their own size. */
export interface GridVision {
  readonly kind: 'grid';
  readonly shape: GridShape;
  readonly cutting: GridCutting;
  /** Token that embeddings of images take the place of; templates write one for each image. */
  readonly imageToken: string;
  readonly imageTokenId: number;
}

const IMAGE_TOKEN = '<|image_pad|>';

const MODEL_TYPES = ['qwen2_vl', 'qwen2_5_vl', 'qwen3_vl', 'qwen3_vl_moe'] as const;

const count = z.int().positive();
const width = count.max(MODEL_LIMITS.width);
const side = count.max(MODEL_LIMITS.imageSide);
const layers = count.max(MODEL_LIMITS.layers);

const towerFields = {
  depth: layers.default(32),
  num_heads: count.max(MODEL_LIMITS.heads).default(16),
  in_channels: z.literal(3).default(3),
  patch_size: side.default(14),
  spatial_merge_size: count.max(MODEL_LIMITS.imageSide).default(2),
  temporal_patch_size: count.max(MODEL_LIMITS.layers).default(2),
  rope_parameters: z.looseObject({ rope_theta: z.number().positive().default(10_000) }).nullish(),
};
export const gridActivation = z
  .enum(['silu', 'quick_gelu', 'gelu', 'gelu_pytorch_tanh'])
  .transform((name) => (name === 'gelu_pytorch_tanh' ? 'gelu_tanh' : name));

const qwen2Schema = z.looseObject({
  ...towerFields,
  embed_dim: width.default(1280),
  mlp_ratio: z.number().positive().max(MODEL_LIMITS.width).default(4),
  hidden_act: gridActivation.default('quick_gelu'),
});
const qwen25Schema = z.looseObject({
  ...towerFields,
  hidden_size: width.default(1280),
  intermediate_size: width.default(3420),
  hidden_act: gridActivation.default('silu'),
  window_size: count.max(MODEL_LIMITS.imageSide).default(112),
  fullatt_block_indexes: z
    .array(z.int().nonnegative())
    .max(MODEL_LIMITS.layers)
    .default([7, 15, 23, 31]),
});
const qwen3Schema = z.looseObject({
  ...towerFields,
  depth: layers.default(27),
  patch_size: side.default(16),
  hidden_size: width.default(1152),
  intermediate_size: width.default(4304),
  hidden_act: gridActivation.default('gelu_tanh'),
  num_position_embeddings: count.max(MODEL_LIMITS.imageSide ** 2).default(2304),
  deepstack_visual_indexes: z
    .array(z.int().nonnegative())
    .max(MODEL_LIMITS.deepLayers)
    .default([8, 16, 24]),
});
type TowerFields = z.output<z.ZodObject<typeof towerFields>>;

const configSchema = z.discriminatedUnion('model_type', [
  z.looseObject({
    model_type: z.literal('qwen2_vl'),
    image_token_id: z.int().nonnegative().default(151_655),
    vision_config: qwen2Schema,
  }),
  z.looseObject({
    model_type: z.literal('qwen2_5_vl'),
    image_token_id: z.int().nonnegative().default(151_655),
    vision_config: qwen25Schema,
  }),
  z.looseObject({
    model_type: z.literal(['qwen3_vl', 'qwen3_vl_moe']),
    image_token_id: z.int().nonnegative().default(151_655),
    vision_config: qwen3Schema,
  }),
]);

/** preprocessor_config.json, or the same inside of processor_config.json. */
const imagesSchema = z.looseObject({
  do_resize: z.literal(true).default(true),
  ...normalizationFields({
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  }),
  // The older names of what `size` has; they go first.
  min_pixels: count.nullish(),
  max_pixels: count.nullish(),
  size: z
    .looseObject({ shortest_edge: count.nullish(), longest_edge: count.nullish() })
    .default({}),
  patch_size: side.default(14),
  temporal_patch_size: count.default(2),
  merge_size: count.default(2),
  resample: resampleField('bicubic'),
});

/** Whether a parsed config.json is one of a model that sees images in about their own size. */
export function isGridConfig(config: unknown): boolean {
  const type = z.looseObject({ model_type: z.enum(MODEL_TYPES) });
  return type.safeParse(config).success;
}

/**
 * Reads what a folder says of its images.
 * @param textSize channels of the text model inside
 * @throws {ModelError} if it is damaged, or describes what no graph can be built of
 */
export function parseGridConfig(files: VisionFiles, textSize: number): GridVision {
  const model = checked(files.config, configSchema);
  const images = checked(files.images, imagesSchema);
  const { origin } = files.config;
  const tower = towerOf(model, origin);
  requireHeads(tower, origin);
  const { spatial_merge_size: merge } = model.vision_config;
  const given = [images.patch_size, images.temporal_patch_size, images.merge_size];
  const own = [tower.patchSide, tower.frames, merge];
  if (given.join() !== own.join()) {
    throw new ModelError(
      `${files.images.origin} is for patches of other sizes (${given.join(', ')}) than the model's (${own.join(', ')})`,
    );
  }
  return {
    kind: 'grid',
    shape: {
      kind: 'grid',
      tower,
      merge,
      connector: connectorOf(model),
      ...normalizationOf(images),
      textSize,
    },
    cutting: cuttingOf(images, files.images.origin),
    imageToken: IMAGE_TOKEN,
    imageTokenId: model.image_token_id,
  };
}

function cuttingOf(images: z.output<typeof imagesSchema>, origin: string): GridCutting {
  const { patch_size: patchSide, merge_size: merge, size } = images;
  const minPixels = images.min_pixels ?? size.shortest_edge ?? 56 * 56;
  const stated = images.max_pixels ?? size.longest_edge ?? 28 * 28 * 1280;
  const most = MODEL_LIMITS.imagePatches * patchSide ** 2;
  const maxPixels = Math.min(stated, most);
  if (minPixels > maxPixels || maxPixels < (patchSide * merge) ** 2) {
    throw new ModelError(
      `${origin}: images have ${minPixels} to ${stated} pixels, and may have ${(patchSide * merge) ** 2} to ${most}`,
    );
  }
  return { kind: 'grid', patchSide, merge, minPixels, maxPixels, resample: images.resample };
}

function connectorOf({ model_type: type }: z.output<typeof configSchema>): GridMerger {
  return type === 'qwen3_vl' || type === 'qwen3_vl_moe' ? QWEN3_MERGER : MERGER;
}

function towerOf(model: z.output<typeof configSchema>, origin: string): GridTower {
  switch (model.model_type) {
    case 'qwen2_vl':
      return qwen2Tower(model.vision_config);
    case 'qwen2_5_vl':
      return qwen25Tower(model.vision_config, origin);
    case 'qwen3_vl':
    case 'qwen3_vl_moe':
      return qwen3Tower(model.vision_config, origin);
  }
}

function shared(config: TowerFields) {
  return {
    numLayers: config.depth,
    numHeads: config.num_heads,
    ropeTheta: config.rope_parameters?.rope_theta ?? 10_000,
    patchSide: config.patch_size,
    frames: config.temporal_patch_size,
    ...PLAIN,
  };
}

/** Nothing that sets Pixtral's tower apart. */
const PLAIN = { bias: true, inputNorm: false, normEps: 1e-6, rotation: 'same' } as const;
const MERGER: GridMerger = { kind: 'merger', norm: 'ln_q', layers: ['mlp.0', 'mlp.2'] };
const QWEN3_MERGER: GridMerger = {
  kind: 'merger',
  norm: 'norm',
  layers: ['linear_fc1', 'linear_fc2'],
};
const NO_TABLE = { tableSide: null, deepLayers: [] } as const;

function qwen2Tower(config: z.output<typeof qwen2Schema>): GridTower {
  return {
    ...shared(config),
    hiddenSize: config.embed_dim,
    intermediateSize: Math.trunc(config.embed_dim * config.mlp_ratio),
    activation: config.hidden_act,
    norms: 'layer',
    tensors: { attention: ['qkv'], first: ['fc1'], down: 'fc2' },
    windows: null,
    ...NO_TABLE,
  };
}

function qwen25Tower(config: z.output<typeof qwen25Schema>, origin: string): GridTower {
  const cells = Math.floor(config.window_size / (config.patch_size * config.spatial_merge_size));
  if (cells === 0) {
    throw new ModelError(`${origin}: windows of ${config.window_size} pixels have no cell`);
  }
  return {
    ...shared(config),
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    activation: config.hidden_act,
    norms: 'rms',
    tensors: {
      attention: ['qkv'],
      first: ['gate_proj', 'up_proj'],
      down: 'down_proj',
    },
    windows: { cells, exceptLayers: config.fullatt_block_indexes },
    ...NO_TABLE,
  };
}

function qwen3Tower(config: z.output<typeof qwen3Schema>, origin: string): GridTower {
  const tableSide = Math.sqrt(config.num_position_embeddings);
  if (!Number.isInteger(tableSide)) {
    throw new ModelError(`${origin}: num_position_embeddings is no square`);
  }
  const { deepstack_visual_indexes: deepLayers } = config;
  const ascending = [...new Set(deepLayers)].toSorted((a, b) => a - b);
  if (ascending.join() !== deepLayers.join() || (deepLayers.at(-1) ?? 0) >= config.depth) {
    throw new ModelError(
      `${origin}: deepstack_visual_indexes are not of the tower's ${config.depth} layers, in order`,
    );
  }
  return {
    ...shared(config),
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    activation: config.hidden_act,
    norms: 'layer',
    tensors: {
      attention: ['qkv'],
      first: ['linear_fc1'],
      down: 'linear_fc2',
    },
    windows: null,
    tableSide,
    deepLayers,
  };
}
