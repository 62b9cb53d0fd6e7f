import type { Family } from '../families/family.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** Attention whose keys and values come from a latent: its widths, and the dimensions of a head. */
export interface LatentAttention {
  /** Width that queries come from; null for the hidden state's. */
  readonly queryRank: number | null;
  /** Width of the latent. */
  readonly keyValueRank: number;
  /** Dimensions of keys and queries that turn, of which all heads have the same keys, and the others. */
  readonly rotaryDim: number;
  readonly stillDim: number;
  /** Dimensions of values, at most those of keys. */
  readonly valueDim: number;
}

/** Undefined where keys and values come from the hidden state. @throws {ModelError} if a width is missing */
export function parseLatent(
  hf: HuggingFaceConfig,
  { latentAttention }: Family,
  origin: string,
): LatentAttention | undefined {
  if (latentAttention === undefined) return undefined;
  const { kv_lora_rank: keyValueRank, qk_rope_head_dim: rotaryDim } = hf;
  const { qk_nope_head_dim: stillDim, q_lora_rank: queryRank = null } = hf;
  if (!keyValueRank || !rotaryDim || !stillDim) {
    throw new ModelError(
      `${origin}: attention from latents needs kv_lora_rank, qk_rope_head_dim and qk_nope_head_dim`,
    );
  }
  const valueDim = hf.v_head_dim ?? hf.hidden_size / hf.num_attention_heads;
  if (!Number.isInteger(valueDim) || valueDim > stillDim + rotaryDim) {
    throw new ModelError(
      `${origin}: values of ${valueDim} dimensions for keys of ${stillDim + rotaryDim} are not ` +
        'supported (supported: whole numbers up to those of keys)',
    );
  }
  if (rotaryDim % 2 !== 0) {
    throw new ModelError(`${origin}: qk_rope_head_dim ${rotaryDim} is not an even number`);
  }
  if (queryRank === null && hf.attention_bias) {
    throw new ModelError(
      `${origin}: attention_bias without q_lora_rank is not supported (supported: one of them)`,
    );
  }
  return { queryRank, keyValueRank, rotaryDim, stillDim, valueDim };
}

/**
 * The configuration in the terms of other attention: with keys and values for every head, of which some
 * dimensions turn. Those of other families stay as they are.
 */
export function withExpandedHeads(
  hf: HuggingFaceConfig,
  family: Family,
  origin: string,
): HuggingFaceConfig {
  const latent = parseLatent(hf, family, origin);
  if (latent === undefined) return hf;
  const headDim = latent.stillDim + latent.rotaryDim;
  const ofRope = { rotary_dim: latent.rotaryDim, partial_rotary_factor: null };
  const { rope_parameters: rope } = hf;
  return {
    ...hf,
    ...ofRope,
    head_dim: headDim,
    num_key_value_heads: hf.num_attention_heads,
    rope_parameters: rope && { ...rope, partial_rotary_factor: null },
    attention_multiplier: headDim ** -0.5 * scoreFactor(hf) ** 2,
  };
}

/** Factor of queries, and of keys, that comes with frequencies that are scaled. */
function scoreFactor({ rope_parameters: rope, rope_scaling: scaling }: HuggingFaceConfig): number {
  const parameters = rope ?? scaling ?? {};
  if ('full_attention' in parameters) return 1;
  const { rope_type: type, type: older, mscale_all_dim: multiplier, factor } = parameters;
  const isScaled = (type ?? older ?? 'default') !== 'default';
  if (!isScaled || !multiplier || !factor || factor <= 1) return 1;
  return 0.1 * multiplier * Math.log(factor) + 1;
}
