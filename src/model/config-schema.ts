import { z } from 'zod';

const count = z.int().positive();
const tokenId = z.int().nonnegative();

const ropeSchema = z.object({
  rope_type: z.string().optional(),
  // The older name of rope_type.
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
  factor: z.number().positive().optional(),
  low_freq_factor: z.number().positive().optional(),
  high_freq_factor: z.number().positive().optional(),
  original_max_position_embeddings: count.optional(),
});

/** Where layers with a sliding window have their own. */
const ropeByLayerTypeSchema = z.object({
  full_attention: ropeSchema,
  sliding_attention: ropeSchema,
});

/** What is read of a Hugging Face config.json. */
export const configSchema = z.looseObject({
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  hidden_act: z.string().nullish(),
  // Gemma's name of hidden_act.
  hidden_activation: z.string().nullish(),
  max_position_embeddings: count,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().optional(),
  rope_local_base_freq: z.number().positive().nullish(),
  rope_scaling: ropeSchema.nullish(),
  // Since Transformers 5: rope_theta and rope_scaling in one object.
  rope_parameters: z.union([ropeByLayerTypeSchema, ropeSchema]).nullish(),
  partial_rotary_factor: z.number().nullish(),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  tie_word_embeddings: z.boolean().default(false),
  sliding_window: count.nullish(),
  use_sliding_window: z.boolean().default(false),
  max_window_layers: z.int().nonnegative().nullish(),
  sliding_window_pattern: count.nullish(),
  // What Transformers calls it since layer_types.
  _sliding_window_pattern: count.nullish(),
  layer_types: z.array(z.string()).nullish(),
  query_pre_attn_scalar: z.number().positive().nullish(),
  attn_logit_softcapping: z.number().nullish(),
  final_logit_softcapping: z.number().nullish(),
  use_bidirectional_attention: z.boolean().nullish(),
  quantization_config: z.unknown().optional(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId)]).nullish(),
});

export type HuggingFaceConfig = z.infer<typeof configSchema>;
