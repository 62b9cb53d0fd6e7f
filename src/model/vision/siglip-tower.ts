/** Towers over tiles, as config.json describes them: SigLIP's and CLIP's. */
import { z } from 'zod';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { encoderActivation, type EncoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';

/** A vision transformer over the patches of a tile. */
export interface TowerConfig {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly layerNormEps: number;
  readonly activation: EncoderActivation | 'quick_gelu';
  readonly style: TowerStyle;
  /** Whether the sum after its layers is normalized. */
  readonly outputNorm: boolean;
  /** Pixels of each side of a patch. */
  readonly patchSide: number;
  /** Patches along each side of the images that positions were trained for. */
  readonly trainedPatches: number;
}

/** Facts that set families of towers apart. */
export interface TowerStyle {
  /** A token before the patches, which no text model sees. */
  readonly classToken: boolean;
  /** Whether what goes into the layers is normalized. */
  readonly inputNorm: boolean;
  readonly patchBias: boolean;
}

export const SIGLIP: TowerStyle = { classToken: false, inputNorm: false, patchBias: true };
/** InternViT's. */
export const INTERN: TowerStyle = { classToken: true, inputNorm: false, patchBias: true };
export const CLIP: TowerStyle = { classToken: true, inputNorm: true, patchBias: false };

const count = z.int().positive();
const side = count.max(MODEL_LIMITS.imageSide);

/** @param usual sizes of the family, where a file does not say them */
export function siglipSchema(usual: {
  readonly width: number;
  readonly heads: number;
  readonly patch: number;
}) {
  return z.looseObject({
    hidden_size: count.max(MODEL_LIMITS.width).default(usual.width),
    intermediate_size: count.max(MODEL_LIMITS.width).default(3072),
    num_hidden_layers: count.max(MODEL_LIMITS.layers).default(12),
    num_attention_heads: count.max(MODEL_LIMITS.heads).default(usual.heads),
    num_channels: z.literal(3).default(3),
    image_size: side.default(224),
    patch_size: side.default(usual.patch),
    hidden_act: encoderActivation.default('gelu_tanh'),
    layer_norm_eps: z.number().positive().default(1e-6),
  });
}

/** The same of CLIP. */
export function clipSchema() {
  return siglipSchema({ width: 768, heads: 12, patch: 32 }).extend({
    hidden_act: z.union([encoderActivation, z.literal('quick_gelu')]).default('quick_gelu'),
    layer_norm_eps: z.number().positive().default(1e-5),
  });
}

interface TowerFields {
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly image_size: number;
  readonly patch_size: number;
  readonly hidden_act: TowerConfig['activation'];
  readonly layer_norm_eps: number;
}

/** @throws {ModelError} naming the file as `origin`, and what in it does not fit together */
export function siglipTower(config: TowerFields, origin: string): TowerConfig {
  const { hidden_size: hiddenSize, num_attention_heads: numHeads } = config;
  if (hiddenSize % numHeads !== 0) {
    throw new ModelError(`${origin}: hidden_size is not a multiple of num_attention_heads`);
  }
  if (config.image_size < config.patch_size) {
    throw new ModelError(`${origin}: patches are larger than images`);
  }
  return {
    hiddenSize,
    intermediateSize: config.intermediate_size,
    numLayers: config.num_hidden_layers,
    numHeads,
    layerNormEps: config.layer_norm_eps,
    activation: config.hidden_act,
    style: SIGLIP,
    outputNorm: true,
    patchSide: config.patch_size,
    trainedPatches: Math.floor(config.image_size / config.patch_size),
  };
}

/**
 * Patches along a tile's side, where all of those that the tower was trained with are seen.
 * @param seen names tiles or images in errors
 * @throws {ModelError} naming the file as `origin`, if they are too many
 */
export function seenPatches(
  { trainedPatches }: TowerConfig,
  origin: string,
  seen: 'tiles' | 'images',
): number {
  const { imagePatches } = MODEL_LIMITS;
  if (trainedPatches ** 2 <= imagePatches) return trainedPatches;
  throw new ModelError(
    `${origin}: ${seen} have ${trainedPatches ** 2} patches; at most ${imagePatches} are seen`,
  );
}

/** Rows of a tile within a tower. */
export function tileTokens(patches: number, { style }: TowerConfig): number {
  return patches ** 2 + (style.classToken ? 1 : 0);
}
