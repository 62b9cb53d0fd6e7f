import { z } from 'zod';

import { ModelError } from './errors.ts';
import { FAMILIES, type BiasRule, type Family } from './families.ts';
import type { RopeScaling } from './rope.ts';

/** A decoder's architecture, read from config.json with every default filled in. */
export interface DecoderConfig {
  readonly family: Family;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly maxPositionEmbeddings: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
  readonly tieWordEmbeddings: boolean;
  readonly queryKeyValueBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  readonly bosTokenId: number | null;
  /** Tokens that end a sequence; several in chat models, none if config.json names none. */
  readonly eosTokenIds: readonly number[];
}

/** ONNX Runtime's rotary kernels work on heads of this many dimensions and its multiples. */
const HEAD_DIM_MULTIPLE = 16;

const count = z.int().positive();
const tokenId = z.int().nonnegative();

const ropeSchema = z.looseObject({
  rope_type: z.string().optional(),
  // The older name of rope_type.
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
  factor: z.number().positive().optional(),
  low_freq_factor: z.number().positive().optional(),
  high_freq_factor: z.number().positive().optional(),
  original_max_position_embeddings: count.optional(),
});

const configSchema = z.looseObject({
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: count,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().optional(),
  rope_scaling: ropeSchema.nullish(),
  // Since Transformers 5: rope_theta and rope_scaling in one object.
  rope_parameters: ropeSchema.nullish(),
  partial_rotary_factor: z.number().nullish(),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  tie_word_embeddings: z.boolean().default(false),
  sliding_window: count.nullish(),
  use_sliding_window: z.boolean().default(false),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId)]).nullish(),
});

type HuggingFaceConfig = z.infer<typeof configSchema>;

/**
 * Reads a parsed Hugging Face config.json.
 * @param origin what to call the configuration in errors, such as its path
 * @throws {ModelError} if it is incomplete, or describes what the decoder graph cannot express
 */
export function parseDecoderConfig(json: unknown, origin: string): DecoderConfig {
  const family = parseFamily(json, origin);
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) {
    throw new ModelError(`${origin} is not a valid model configuration: ${issues(parsed.error)}`);
  }
  const hf = parsed.data;
  refuseUnsupported(hf, family, origin);
  const config: DecoderConfig = {
    family,
    vocabSize: hf.vocab_size,
    hiddenSize: hf.hidden_size,
    intermediateSize: hf.intermediate_size,
    numLayers: hf.num_hidden_layers,
    numHeads: hf.num_attention_heads,
    numKvHeads: hf.num_key_value_heads ?? hf.num_attention_heads,
    headDim: hf.head_dim ?? hf.hidden_size / hf.num_attention_heads,
    maxPositionEmbeddings: hf.max_position_embeddings,
    rmsNormEps: hf.rms_norm_eps,
    ropeTheta: hf.rope_theta ?? hf.rope_parameters?.rope_theta ?? 10_000,
    ropeScaling: parseRopeScaling(hf, origin),
    tieWordEmbeddings: hf.tie_word_embeddings,
    queryKeyValueBias: hasBias(family.bias.queryKeyValue, hf),
    attentionOutputBias: hasBias(family.bias.attentionOutput, hf),
    mlpBias: hasBias(family.bias.mlp, hf),
    bosTokenId: hf.bos_token_id ?? null,
    eosTokenIds: [hf.eos_token_id ?? []].flat(),
  };
  checkHeads(config, origin);
  return config;
}

function parseFamily(json: unknown, origin: string): Family {
  const parsed = z.looseObject({ model_type: z.string() }).safeParse(json);
  const supported = `supported: ${FAMILIES.map(({ modelType }) => modelType).join(', ')}`;
  if (!parsed.success) {
    throw new ModelError(`${origin} has no "model_type" (${supported})`);
  }
  const { model_type: modelType } = parsed.data;
  const family = FAMILIES.find((candidate) => candidate.modelType === modelType);
  if (family === undefined) {
    throw new ModelError(`${origin}: model type "${modelType}" is not supported (${supported})`);
  }
  return family;
}

function refuseUnsupported(hf: HuggingFaceConfig, family: Family, origin: string): void {
  const refuse = (what: string, supported: string): never => {
    throw new ModelError(`${origin}: ${what} is not supported (supported: ${supported})`);
  };
  if (hf.hidden_act !== 'silu') {
    refuse(`hidden_act "${hf.hidden_act}"`, 'silu');
  }
  const window = hf.sliding_window ?? null;
  const windowApplies = family.slidingWindowFlag === null || hf[family.slidingWindowFlag];
  if (windowApplies && window !== null && window < hf.max_position_embeddings) {
    refuse(
      `a sliding window of ${window} tokens`,
      `full attention, or a window of at least max_position_embeddings = ${hf.max_position_embeddings}`,
    );
  }
  if ((hf.partial_rotary_factor ?? 1) !== 1) {
    refuse(`partial_rotary_factor ${hf.partial_rotary_factor}`, '1');
  }
  if (hf.quantization_config !== undefined && hf.quantization_config !== null) {
    refuse('a checkpoint that is quantized already', 'float32, float16 and bfloat16 weights');
  }
}

function parseRopeScaling(hf: HuggingFaceConfig, origin: string): RopeScaling {
  const rope = hf.rope_parameters ?? hf.rope_scaling;
  const type = rope?.rope_type ?? rope?.type ?? 'default';
  const need = (key: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = rope?.[key];
    if (value === undefined) {
      throw new ModelError(`${origin}: rope scaling "${type}" needs "${key}"`);
    }
    return value;
  };
  switch (type) {
    case 'default':
      return { type };
    case 'linear':
      return { type, factor: need('factor') };
    case 'llama3': {
      const lowFreqFactor = need('low_freq_factor');
      const highFreqFactor = need('high_freq_factor');
      if (highFreqFactor <= lowFreqFactor) {
        throw new ModelError(`${origin}: high_freq_factor must be greater than low_freq_factor`);
      }
      return {
        type,
        factor: need('factor'),
        lowFreqFactor,
        highFreqFactor,
        originalMaxPositionEmbeddings:
          rope?.original_max_position_embeddings ?? hf.max_position_embeddings,
      };
    }
    default:
      throw new ModelError(
        `${origin}: rope scaling "${type}" is not supported (supported: default, linear, llama3)`,
      );
  }
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

function issues(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}
