/** Facts about images in mmproj files, as the fields of config.json and preprocessor_config.json. */
import type { GgufMetadata } from '../gguf/metadata.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { type GridVision, parseGridConfig } from './grid-config.ts';
import { type LineVision, parseLineConfig } from './line-config.ts';
import { parseSquareConfig, type SquareVision } from './square-config.ts';
import { parseVisionConfig, type TileVision } from './vision-config.ts';
import type { VisionFiles } from './vision-files.ts';

/** An mmproj file, and the text model that it is for. */
export interface MmprojFacts {
  readonly metadata: GgufMetadata;
  /** Name of the file in errors. */
  readonly origin: string;
  /** A tensor's shape; undefined where the file has none of that name. */
  readonly shapeOf: (tensor: string) => readonly number[] | undefined;
  /** Token that embeddings of images take the place of. */
  readonly imageToken: string;
  readonly imageTokenId: number;
  /** Channels of the text model. */
  readonly textSize: number;
  /** Its layers that are given more of images. */
  readonly deepLayers: number;
}

/**
 * How many sides of a tile the longest edge of an image is resized to, where a file does not say it: those of
 * older converters do not. All published models have 4.
 */
const TILES_ALONG = 4;

/** Patches along each side that become one token; files do not say it where it is so many. */
const GEMMA_POOL = 4;

const QWEN_MERGE = 2;

/** As in all published models: files do not say it. */
const QWEN_WINDOW = 112;
const FRAMES = 2;

/** Bounds of an image, in pixels, as in the preprocessor_config.json of published models: files have none. */
const QWEN_PIXELS = {
  qwen2_vl: [3136, 12_845_056],
  qwen2_5_vl: [3136, 12_845_056],
  qwen3_vl: [65_536, 16_777_216],
} as const;

type QwenType = keyof typeof QWEN_PIXELS;

/** Metadata of a tower, by the end of its key. */
class TowerMetadata {
  readonly #metadata: GgufMetadata;

  constructor({ metadata }: Pick<MmprojFacts, 'metadata'>) {
    this.#metadata = metadata;
  }

  number(name: string): number | undefined {
    return this.#metadata.number(key(name));
  }

  /** @throws {ModelError} where there is none, or it is none */
  needed(name: string): number {
    return this.#metadata.require(key(name), this.number(name));
  }

  numbers(name: string): number[] {
    return [...this.#metadata.require(key(name), this.#metadata.numbers(key(name)))];
  }

  /** Whether `clip.use_gelu` or `clip.use_silu` is set. */
  uses(activation: 'gelu' | 'silu'): boolean {
    return this.#metadata.boolean(`clip.use_${activation}`) === true;
  }

  get normalization() {
    return { image_mean: this.numbers('image_mean'), image_std: this.numbers('image_std') };
  }

  /** Fields of a tower over tiles. */
  get siglip() {
    return {
      hidden_size: this.needed('embedding_length'),
      intermediate_size: this.needed('feed_forward_length'),
      num_hidden_layers: this.needed('block_count'),
      num_attention_heads: this.needed('attention.head_count'),
      image_size: this.needed('image_size'),
      patch_size: this.needed('patch_size'),
      hidden_act: this.uses('gelu') ? 'gelu_pytorch_tanh' : 'quick_gelu',
      layer_norm_eps: this.needed('attention.layer_norm_epsilon'),
    };
  }
}

function key(name: string): string {
  return `clip.vision.${name}`;
}

/** @throws {ModelError} where a file is for another text model */
export function requireWidth({ metadata, origin, textSize }: MmprojFacts): void {
  const stated = new TowerMetadata({ metadata }).needed('projection_dim');
  if (stated === textSize) return;
  throw new ModelError(
    `${origin} is for a text model of width ${stated}, and this one has ${textSize}`,
  );
}

export function ideficsConfig(facts: MmprojFacts): TileVision {
  const tower = new TowerMetadata(facts);
  const tileSide = tower.needed('image_size');
  const model = {
    image_token_id: facts.imageTokenId,
    scale_factor: tower.needed('projector.scale_factor'),
    vision_config: tower.siglip,
  };
  const images = {
    size: { longest_edge: tower.number('preproc_image_size') ?? TILES_ALONG * tileSide },
    max_image_size: { longest_edge: tileSide },
    ...tower.normalization,
  };
  return parseVisionConfig(filesOf(facts, model, images), facts.textSize);
}

export function gemmaConfig(facts: MmprojFacts): SquareVision {
  const tower = new TowerMetadata(facts);
  const { siglip } = tower;
  const side = siglip.image_size;
  const pool = tower.number('projector.scale_factor') ?? GEMMA_POOL;
  const model = {
    image_token_index: facts.imageTokenId,
    mm_tokens_per_image: (Math.floor(side / siglip.patch_size) / pool) ** 2,
    vision_config: siglip,
  };
  const images = { size: { height: side, width: side }, ...tower.normalization };
  const config = parseSquareConfig(filesOf(facts, model, images), facts.textSize);
  return { ...config, texts: { ...config.texts, image: facts.imageToken } };
}

export function qwenConfig(facts: MmprojFacts, modelType: QwenType): GridVision {
  const tower = new TowerMetadata(facts);
  const width = tower.needed('embedding_length');
  const depth = tower.needed('block_count');
  const patchSide = tower.needed('patch_size');
  const merge = tower.number('spatial_merge_size') ?? QWEN_MERGE;
  // Converters of Qwen2-VL write another number, or none.
  const [rows = 0, columns = 0] = facts.shapeOf('v.blk.0.ffn_up.weight') ?? [
    tower.needed('feed_forward_length'),
    width,
  ];
  const intermediate = rows === width ? columns : rows;
  const model = {
    model_type: modelType,
    image_token_id: facts.imageTokenId,
    vision_config: {
      depth,
      num_heads: tower.needed('attention.head_count'),
      patch_size: patchSide,
      temporal_patch_size: FRAMES,
      spatial_merge_size: merge,
      hidden_act: activationOf(tower),
      hidden_size: width,
      intermediate_size: intermediate,
      ...(modelType === 'qwen2_vl' && {
        embed_dim: width,
        // Cut off to whole channels.
        mlp_ratio: (intermediate + 0.5) / width,
      }),
      ...(modelType === 'qwen2_5_vl' && {
        window_size: tower.number('window_size') ?? QWEN_WINDOW,
        fullatt_block_indexes: wholeLayers(tower.needed('n_wa_pattern'), depth),
      }),
      ...(modelType === 'qwen3_vl' && {
        num_position_embeddings: (tower.needed('image_size') / patchSide) ** 2,
        deepstack_visual_indexes: marked(tower.numbers('is_deepstack_layers')),
      }),
    },
  };
  const [least, most] = QWEN_PIXELS[modelType];
  const images = {
    patch_size: patchSide,
    temporal_patch_size: FRAMES,
    merge_size: merge,
    min_pixels: tower.number('image_min_pixels') ?? least,
    max_pixels: tower.number('image_max_pixels') ?? most,
    ...tower.normalization,
  };
  const config = parseGridConfig(filesOf(facts, model, images), facts.textSize);
  const { length: deep } = config.shape.tower.deepLayers;
  if (deep === facts.deepLayers) return config;
  throw new ModelError(
    `${facts.origin} has images for ${deep} layers of the text model, which takes them at ${facts.deepLayers}`,
  );
}

export function pixtralConfig(facts: MmprojFacts): LineVision {
  const tower = new TowerMetadata(facts);
  const merge = tower.number('spatial_merge_size');
  const eps = tower.needed('attention.layer_norm_epsilon');
  const isMerged = merge !== undefined;
  const model = {
    model_type: isMerged ? 'mistral3' : 'llava',
    image_token_index: facts.imageTokenId,
    projector_hidden_act: 'gelu',
    multimodal_projector_bias: facts.shapeOf('mm.1.bias') !== undefined,
    vision_feature_layer: -1,
    ...(isMerged
      ? { spatial_merge_size: merge, text_config: { rms_norm_eps: eps } }
      : { vision_feature_select_strategy: 'full' }),
    vision_config: {
      model_type: 'pixtral',
      hidden_size: tower.needed('embedding_length'),
      intermediate_size: tower.needed('feed_forward_length'),
      num_hidden_layers: tower.needed('block_count'),
      num_attention_heads: tower.needed('attention.head_count'),
      patch_size: tower.needed('patch_size'),
      hidden_act: tower.uses('silu') ? 'silu' : 'gelu',
    },
  };
  const images = {
    size: { longest_edge: tower.needed('image_size') },
    ...tower.normalization,
  };
  return parseLineConfig(filesOf(facts, model, images), facts.textSize);
}

function filesOf({ origin }: MmprojFacts, model: object, images: object): VisionFiles {
  const of = (json: unknown) => ({ json, origin });
  return { config: of(model), images: of(images), processor: of({}) };
}

function activationOf(tower: TowerMetadata): string {
  if (tower.uses('silu')) return 'silu';
  return tower.uses('gelu') ? 'gelu_pytorch_tanh' : 'quick_gelu';
}

/** Layers without windows: every so many, all of them if 0. */
function wholeLayers(every: number, depth: number): number[] {
  const layers = Array.from({ length: Math.min(depth, MODEL_LIMITS.layers) }, (_, layer) => layer);
  return layers.filter((layer) => every === 0 || (layer + 1) % every === 0);
}

/** Places of what is not 0. */
function marked(flags: readonly number[]): number[] {
  return flags.flatMap((flag, at) => (flag === 0 ? [] : [at]));
}
