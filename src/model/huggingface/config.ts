import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { type Activation, parseActivation } from './activation.ts';
import { beforeChunks } from './chunked-attention.ts';
import { configSchema, type HuggingFaceConfig } from './config-schema.ts';
import { type ExpertConfig, parseExperts } from './expert-config.ts';
import { ModelError } from '../model-error.ts';
import { parseQuantization, type Quantization } from './quantization.ts';
import { type BiasRule, type Family, withCommonNames } from '../families/family.ts';
import { FAMILIES } from '../families/known-families.ts';
import type { GraphVariant } from './graph-variant.ts';
import { type LatentAttention, parseLatent, withExpandedHeads } from './latent-config.ts';
import { type LayerBlock, layerBlocks, withLayerTypes } from './layer-blocks.ts';
import { type LayerParts, parseLayerParts } from './layer-parts.ts';
import { withLinearLayers } from './linear-layers.ts';
import { MLX_FAMILIES } from './mlx-forms.ts';
import { isMlx } from './mlx-quantization.ts';
import { mlpWidths } from './mlp-widths.ts';
import { type Multipliers, parseMultipliers } from './multipliers.ts';
import { parseRecurrence, type RecurrentConfig } from './recurrent-config.ts';
import { rotatedLayers } from './rotated-layers.ts';
import { parseRope } from './rope-config.ts';
import { parseScales } from './scales.ts';
import type { RopeScaling } from './rope-scaling.ts';
import { slidingWindows } from './sliding-windows.ts';
import { MULTIMODAL_TYPES, textModelConfig } from './text-config.ts';
import { withCrossPositions } from './cross-positions.ts';
import { rejectUnsupported } from './unsupported.ts';

/** A decoder's architecture, read from config.json with every default filled in. */
export interface DecoderConfig extends GraphVariant, LayerParts {
  readonly family: Family;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  /** By layer, channels of its MLP. */
  readonly intermediateSizes: readonly number[];
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly activation: Activation;
  readonly maxPositionEmbeddings: number;
  /** Epsilon of other norms, too. */
  readonly rmsNormEps: number;
  /** Factor of the embeddings. */
  readonly embeddingScale: number;
  /** Factor of the logits. */
  readonly logitScale: number;
  /** Logits x become cap * tanh(x / cap); null if they stay. */
  readonly logitSoftcap: number | null;
  /** The same for attention scores. */
  readonly attentionSoftcap: number | null;
  /** How many dimensions of a head have rotary embedding. */
  readonly rotaryDim: number;
  /** By layer, whether there is rotary embedding. */
  readonly rotatedLayers: readonly boolean[];
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
  /** The rotary base of layers with a sliding window, if it is another, unscaled; otherwise null. */
  readonly localRopeTheta: number | null;
  /**
   * By pair of dimensions, whether it turns by frames (0), rows (1) or columns (2) of images; left out where
   * there is one position. With text alone all three are equal.
   */
  readonly mropeAxes?: readonly number[] | undefined;
  /** First layers whose sums get more of an image: rows of embeddings have as many parts more. */
  readonly deepLayers?: number | undefined;
  /**
   * Positions at the beginning of the KV cache that hold the keys and values of an encoder's output; left out
   * where there is no encoder. Texts come after them.
   */
  readonly crossPositions?: number | undefined;
  /** The scale of attention scores. */
  readonly attentionScale: number;
  /** By layer, how many tokens each attends to, itself included; null for all before it. */
  readonly slidingWindows: readonly (number | null)[];
  /** MLPs read what attention reads, not what it adds. */
  readonly parallelResidual: boolean;
  readonly tieWordEmbeddings: boolean;
  readonly queryKeyValueBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  readonly lmHeadBias: boolean;
  /** Null where all layers have an MLP. */
  readonly experts: ExpertConfig | null;
  /** By layer, the part that it is; undefined where layers have a mixer and an MLP. */
  readonly blocks?: readonly LayerBlock[] | undefined;
  /** Undefined where all are 1. */
  readonly multipliers?: Multipliers | undefined;
  /** Undefined where keys and values come from the hidden state. */
  readonly latent?: LatentAttention | undefined;
  /** Undefined where all layers attend. */
  readonly recurrence: RecurrentConfig | undefined;
  /** How the checkpoint's matrices are quantized; null if they are not. */
  readonly quantization: Quantization | null;
  readonly bosTokenId: number | null;
  /** Tokens that end a sequence; several in chat models, none if config.json names none. */
  readonly eosTokenIds: readonly number[];
}

/** Values that `model_type` can have in config.json. */
const SUPPORTED_MODEL_TYPES = [
  ...new Set(FAMILIES.map(({ modelType }) => modelType)),
  ...MULTIMODAL_TYPES,
].join(', ');

/** ONNX Runtime's rotary kernels work on heads of this many dimensions and its multiples. */
const HEAD_DIM_MULTIPLE = 16;

/**
 * Reads a parsed Hugging Face config.json; of a multimodal model's, what is said of its text model.
 * @param origin what to call the configuration in errors, such as its path
 * @param maxModelLen longest sequence that will be computed, in tokens, on which the rotary
 *   frequencies of some models depend; the longest possible if left out
 * @throws {ModelError} if it is incomplete, or describes what the decoder graph cannot express
 */
export function parseDecoderConfig(
  json: unknown,
  origin: string,
  maxModelLen?: number,
): DecoderConfig {
  const text = textModelConfig(json);
  const family = parseFamily(text, origin);
  const parsed = configSchema.safeParse(
    withCrossPositions(
      {
        ...family.defaults,
        ...withLayerTypes(withCommonNames(text, family)),
        ...family.fixed,
      },
      family,
    ),
  );
  if (!parsed.success) {
    throw new ModelError(
      `${origin} is not a valid model configuration: ${explainZod(parsed.error)}`,
    );
  }
  const hf = withExpandedHeads(withLinearLayers(parsed.data, origin), family, origin);
  rejectUnsupported(hf, family, origin);
  const headDim = hf.head_dim ?? hf.hidden_size / hf.num_attention_heads;
  const numKvHeads = hf.num_key_value_heads ?? hf.num_attention_heads;
  const rope = parseRope(hf, {
    headDim,
    windowRope: family.windowRope,
    maxModelLen,
    origin,
  });
  const parts = parseLayerParts(hf, family, { numKvHeads, headDim }, origin);
  const widths = mlpWidths(hf, parts.keyLayers, origin);
  const rotated = rotatedLayers(hf, family);
  const length = beforeChunks(hf, rotated, rope.maxPositionEmbeddings, origin);
  const recurrence = parseRecurrence(hf, family, origin);
  const config: DecoderConfig = {
    family,
    vocabSize: hf.vocab_size,
    hiddenSize: hf.hidden_size,
    intermediateSizes: widths,
    numLayers: hf.num_hidden_layers,
    numHeads: hf.num_attention_heads,
    numKvHeads,
    headDim,
    ...parts,
    maxPositionEmbeddings: length,
    ...parseScales(hf, family),
    activation: parseActivation(hf, family, origin),
    logitSoftcap: hf.final_logit_softcapping ?? null,
    attentionSoftcap: hf.attn_logit_softcapping ?? null,
    rotaryDim: rope.rotaryDim,
    rotatedLayers: rotated,
    ropeTheta: rope.theta,
    ropeScaling: rope.scaling,
    localRopeTheta: rope.localTheta,
    mropeAxes: rope.mropeAxes,
    deepLayers: deepLayers(hf, origin),
    crossPositions: family.crossAttention && (hf.max_source_positions ?? undefined),
    attentionScale: hf.attention_multiplier ?? (hf.query_pre_attn_scalar ?? headDim) ** -0.5,
    slidingWindows: slidingWindows(hf, family, length),
    parallelResidual: hf.use_parallel_residual,
    // A model that was trained for embeddings may have no LM head; what it generates means nothing.
    tieWordEmbeddings: hf.tie_word_embeddings || isWithoutHead(hf),
    queryKeyValueBias: hasBias(family.bias.queryKeyValue, hf),
    attentionOutputBias: hasBias(family.bias.attentionOutput, hf),
    mlpBias: hasBias(family.bias.mlp, hf),
    lmHeadBias: hasBias(family.bias.lmHead, hf),
    experts: parseExperts(hf, family, widths, origin),
    recurrence,
    latent: parseLatent(hf, family, origin),
    blocks: layerBlocks(hf, family),
    multipliers: parseMultipliers(hf, recurrence),
    quantization: parseQuantization(statedQuantization(hf), origin),
    bosTokenId: hf.bos_token_id ?? null,
    eosTokenIds: [hf.eos_token_id ?? []].flat(),
  };
  checkHeads(config, origin);
  if (config.wholeHeads) checkHeads({ ...config, ...config.wholeHeads }, origin);
  checkQuantization(config, origin);
  checkPositions(config, origin);
  return config;
}

function parseFamily(json: unknown, origin: string): Family {
  const parsed = z.looseObject({ model_type: z.string() }).safeParse(json);
  const supported = `supported: ${SUPPORTED_MODEL_TYPES}`;
  if (!parsed.success) {
    throw new ModelError(`${origin} has no "model_type" (${supported})`);
  }
  const fields = parsed.data;
  const { model_type: modelType } = fields;
  const family = FAMILIES.find((candidate) => {
    if (candidate.modelType !== modelType) return false;
    const all = { ...withCommonNames(fields, candidate), ...fields };
    return Object.entries(candidate.variant).every(([key, value]) => all[key] === value);
  });
  if (family === undefined) {
    throw new ModelError(`${origin}: model type "${modelType}" is not supported (${supported})`);
  }
  return family;
}

/** Number of layers that are given more of images; fewer than all, since what follows the last is not computed for all tokens. */
function deepLayers(hf: HuggingFaceConfig, origin: string): number | undefined {
  const { length: count } = hf.vision_config?.deepstack_visual_indexes ?? [];
  if (count < hf.num_hidden_layers) return count === 0 ? undefined : count;
  throw new ModelError(
    `${origin}: deepstack_visual_indexes are ${count}, and the model has ${hf.num_hidden_layers} layers`,
  );
}

function hasBias(rule: BiasRule, hf: HuggingFaceConfig): boolean {
  if (rule === 'always' || rule === 'never') {
    return rule === 'always';
  }
  return hf[rule];
}

function checkHeads({ headDim, numHeads, numKvHeads }: DecoderConfig, origin: string): void {
  if (!Number.isInteger(headDim)) {
    throw new ModelError(`${origin}: hidden_size is not a multiple of num_attention_heads`);
  }
  if (headDim % HEAD_DIM_MULTIPLE !== 0) {
    throw new ModelError(
      `${origin}: head_dim ${headDim} is not supported (supported: multiples of ${HEAD_DIM_MULTIPLE})`,
    );
  }
  if (numHeads % numKvHeads !== 0) {
    throw new ModelError(
      `${origin}: num_attention_heads ${numHeads} is not a multiple of num_key_value_heads ${numKvHeads}`,
    );
  }
}

/** MLX leaves what it began with in the other field. */
function statedQuantization(hf: HuggingFaceConfig): unknown {
  const { quantization_config: stated, compression_config: older, quantization } = hf;
  return isMlx(quantization) ? quantization : (stated ?? older ?? quantization);
}

/** There is one format for stacked experts, but for MLX's, which has them by themselves. */
function checkQuantization({ quantization, family }: DecoderConfig, origin: string): void {
  if (quantization?.method === 'mlx') {
    if (MLX_FAMILIES.has(family.modelType)) return;
    throw new ModelError(
      `${origin}: ${family.modelType} as MLX stores it is not supported ` +
        `(supported: ${[...MLX_FAMILIES].join(', ')})`,
    );
  }
  const isAlternating = family.experts?.stacked?.order === 'columns, alternating';
  if (quantization !== null && (quantization.method === 'mxfp4') !== isAlternating) {
    throw new ModelError(
      `${origin}: quant_method "${quantization.method}" is not supported for ${family.modelType}`,
    );
  }
}

/** Scaled positions are as many as configurations say; their angles are in memory as a whole. */
function checkPositions(config: DecoderConfig, origin: string): void {
  const { maxPositionEmbeddings } = config;
  const headDim = Math.max(config.headDim, config.wholeHeads?.headDim ?? 0);
  const values = (maxPositionEmbeddings * headDim) / 2;
  if (values > MODEL_LIMITS.rotaryTableValues) {
    throw new ModelError(
      `${origin}: ${maxPositionEmbeddings} positions of heads of ${headDim} dimensions have ` +
        `${values} angles, and the limit is ${MODEL_LIMITS.rotaryTableValues}`,
    );
  }
}

/** Such as `MistralModel`, which makes hidden states alone. */
function isWithoutHead({ architectures }: HuggingFaceConfig): boolean {
  const [name, ...others] = architectures ?? [];
  return name !== undefined && others.length === 0 && name.endsWith('Model');
}
