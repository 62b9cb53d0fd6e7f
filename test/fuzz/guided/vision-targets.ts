/** Readers of what models say of the images that they see. */
import { ImageError } from '../../../src/images/image-error.ts';
import { lineGrid } from '../../../src/images/lines.ts';
import { cellGrid } from '../../../src/images/patches.ts';
import { anyresGrid } from '../../../src/images/anyres.ts';
import { canvasGrid } from '../../../src/images/canvas.ts';
import type { Size } from '../../../src/images/preprocess.ts';
import { type TileGrid, tileGrid } from '../../../src/images/tiles.ts';
import { isAnyresConfig, parseAnyresConfig } from '../../../src/model/vision/anyres-config.ts';
import { isCanvasConfig, parseCanvasConfig } from '../../../src/model/vision/canvas-config.ts';
import { IMAGE_LIMITS } from '../../../src/image-limits.ts';
import { parseGgufHeader } from '../../../src/model/gguf/gguf-header.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { isGridConfig, parseGridConfig } from '../../../src/model/vision/grid-config.ts';
import { isLineConfig, parseLineConfig } from '../../../src/model/vision/line-config.ts';
import { isLlavaConfig, parseLlavaConfig } from '../../../src/model/vision/llava-config.ts';
import {
  isOnevisionConfig,
  parseOnevisionConfig,
} from '../../../src/model/vision/onevision-config.ts';
import { isSquareConfig, parseSquareConfig } from '../../../src/model/vision/square-config.ts';
import { mmprojConfig } from '../../../src/model/vision/mmproj.ts';
import { parseVisionConfig } from '../../../src/model/vision/vision-config.ts';
import type { VisionConfig } from '../../../src/model/vision/vision-part.ts';
import { ggufBytes } from '../../support/gguf-writer.ts';
import { MMPROJ_FACTS, MMPROJ_FAMILIES } from '../../support/mmproj.ts';
import { refusable, type Target } from './target.ts';

const TEXT_SIZE = 32;
const EDGE = IMAGE_LIMITS.imageEdge;
const SIZES = [
  { width: 1, height: 1 },
  { width: 640, height: 479 },
  { width: 5000, height: 5000 },
  { width: EDGE, height: 1 },
  { width: 1, height: EDGE },
  { width: EDGE, height: 381 },
];

function gridOf(size: Size, config: VisionConfig): TileGrid {
  switch (config.kind) {
    case 'grid':
      return cellGrid(size, config.cutting);
    case 'lines':
      return lineGrid(size, config.cutting);
    case 'square':
      return { rows: 0, columns: 0 };
    case 'tiles':
      return tileGrid(size, config.cutting);
    case 'anyres':
      return anyresGrid(size, config.cutting);
    case 'canvas':
      return canvasGrid(size, config.cutting);
  }
}

const NONE = { rows: 0, columns: 0 };

/** @throws Error where an image of any size could become more than is allowed, or nothing */
function requireBounds(config: VisionConfig): void {
  for (const size of SIZES) {
    const grid = refusable(() => gridOf(size, config), ImageError);
    if (grid === undefined) continue;
    const { rows, columns } = grid;
    const isInCells = config.kind === 'grid' || config.kind === 'lines';
    const most = isInCells ? MODEL_LIMITS.imagePatches : MODEL_LIMITS.imageTiles;
    const isGrid = Number.isInteger(rows) && Number.isInteger(columns) && rows * columns <= most;
    if (!isGrid || (isInCells && rows * columns === 0)) {
      throw new Error(`${JSON.stringify(size)} becomes ${rows} x ${columns}`);
    }
    const { shown = NONE, scaled = shown } = grid;
    if (!(scaled.rows <= shown.rows && scaled.columns <= shown.columns)) {
      throw new Error(`${JSON.stringify(shown)} becomes ${JSON.stringify(scaled)}`);
    }
  }
}

const TILES = {
  config: {
    model_type: 'smolvlm',
    image_token_id: 5,
    scale_factor: 2,
    vision_config: { hidden_size: 24, num_attention_heads: 2, image_size: 32, patch_size: 8 },
  },
  images: { size: { longest_edge: 96 }, max_image_size: { longest_edge: 32 }, resample: 1 },
  processor: { image_seq_len: 4 },
};
const GRIDS = {
  config: {
    model_type: 'qwen2_5_vl',
    image_token_id: 5,
    vision_config: {
      depth: 3,
      hidden_size: 32,
      num_heads: 2,
      patch_size: 4,
      window_size: 16,
      fullatt_block_indexes: [1],
    },
  },
  images: { patch_size: 4, merge_size: 2, min_pixels: 64, max_pixels: 4096 },
  processor: {},
};

const LINES = {
  config: {
    model_type: 'mistral3',
    image_token_index: 5,
    spatial_merge_size: 2,
    vision_config: {
      model_type: 'pixtral',
      hidden_size: 32,
      num_hidden_layers: 3,
      num_attention_heads: 2,
      patch_size: 4,
    },
  },
  images: { size: { longest_edge: 36 } },
  processor: { patch_size: 4, spatial_merge_size: 2 },
};

const SQUARES = {
  config: {
    model_type: 'gemma3',
    image_token_index: 5,
    mm_tokens_per_image: 4,
    vision_config: { hidden_size: 24, num_attention_heads: 2, image_size: 32, patch_size: 8 },
  },
  images: { size: { height: 32, width: 32 } },
  processor: { image_seq_length: 4 },
};

const CROPS = {
  config: {
    model_type: 'llava',
    image_token_index: 5,
    vision_config: {
      model_type: 'clip_vision_model',
      hidden_size: 24,
      num_attention_heads: 2,
      image_size: 32,
      patch_size: 8,
    },
  },
  images: { size: { shortest_edge: 32 }, crop_size: { height: 32, width: 32 } },
  processor: { image_token: '<image>' },
};

const CANVASES = {
  config: {
    model_type: 'internvl',
    image_token_id: 5,
    vision_config: { hidden_size: 24, num_attention_heads: 2, image_size: [16, 16], patch_size: 4 },
  },
  images: { size: { height: 16, width: 16 }, min_patches: 1, max_patches: 5 },
  processor: { image_seq_length: 4 },
};

const MARGINS = {
  config: {
    ...CROPS.config,
    model_type: 'llava_next',
    image_grid_pinpoints: [
      [32, 64],
      [64, 64],
    ],
  },
  images: {
    size: { shortest_edge: 32 },
    crop_size: { height: 32, width: 32 },
    image_grid_pinpoints: [
      [32, 64],
      [64, 64],
    ],
  },
  processor: { image_token: '<image>', patch_size: 8 },
};

const SCALED = {
  config: {
    ...MARGINS.config,
    model_type: 'llava_onevision',
    vision_aspect_ratio: 'anyres_max_1',
    vision_config: { ...CROPS.config.vision_config, model_type: 'siglip_vision_model' },
  },
  images: { ...MARGINS.images, size: { height: 32, width: 32 }, image_mean: [0.5, 0.4, 0.6] },
  processor: { num_image_tokens: 16, vision_aspect_ratio: 'anyres_max_1' },
};

const visionConfig: Target = {
  name: 'vision-config',
  seeds: [TILES, GRIDS, LINES, SQUARES, CROPS, CANVASES, MARGINS, SCALED].map((files) =>
    JSON.stringify(files),
  ),
  dictionary: [
    ...[
      'qwen2_vl',
      'internvl',
      'max_patches',
      'llava_next',
      'llava_onevision',
      'anyres_max_9',
      'image_grid_pinpoints',
      'downsample_ratio',
      'idefics3',
      'gemma3',
      'siglip_vision_model',
      'vision_feature_layer',
      'mm_tokens_per_image',
      'shortest_edge',
      'longest_edge',
      'max_pixels',
      'min_pixels',
    ],
    ...['spatial_merge_size', 'temporal_patch_size', 'in_channels', 'do_resize', 'image_mean'],
  ],
  maxBytes: 4096,
  maxWork: 2e6,
  run(input) {
    let json: unknown;
    try {
      json = JSON.parse(input.toString());
    } catch {
      return;
    }
    const { config, images, processor }: Partial<Record<string, unknown>> = Object(json);
    const of = (content: unknown) => ({ json: content ?? {}, origin: 'x.json' });
    const files = { config: of(config), images: of(images), processor: of(processor) };
    const scaled = isOnevisionConfig(config) ? parseOnevisionConfig : parseVisionConfig;
    const margins = isAnyresConfig(config) ? parseAnyresConfig : scaled;
    const canvases = isCanvasConfig(config) ? parseCanvasConfig : margins;
    const tiles = isSquareConfig(config) ? parseSquareConfig : canvases;
    const others = isLlavaConfig(config) ? parseLlavaConfig : tiles;
    const squares = isLineConfig(config) ? parseLineConfig : others;
    const parse = isGridConfig(config) ? parseGridConfig : squares;
    const read = refusable<VisionConfig>(() => parse(files, TEXT_SIZE), ModelError);
    if (read !== undefined) requireBounds(read);
  },
};

const mmproj: Target = {
  name: 'mmproj',
  seeds: Object.values(MMPROJ_FAMILIES).map((metadata) => ggufBytes(metadata, [])),
  maxBytes: 4096,
  maxWork: 2e6,
  run(input) {
    const read = refusable(() => {
      const { metadata, tensors } = parseGgufHeader(input, input.length, 'x.gguf');
      return mmprojConfig({
        metadata,
        origin: 'x.gguf',
        shapeOf: (name) => tensors.get(name)?.shape,
        ...MMPROJ_FACTS,
      }).config;
    }, ModelError);
    if (read !== undefined) requireBounds(read);
  },
};

export const VISION_TARGETS: readonly Target[] = [visionConfig, mmproj];
