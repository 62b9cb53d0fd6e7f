import { z } from 'zod';

import { MODEL_LIMITS } from '../../model-limits.ts';

const count = z.int().positive();
const heads = count.max(MODEL_LIMITS.heads);
const width = count.max(MODEL_LIMITS.width);
// One for all layers, or one for each.
const widths = z.union([width, z.array(width).max(MODEL_LIMITS.layers)]);
// The same for each layer, if there are many.
const ofLayers = <Value>(value: z.ZodType<Value>) =>
  z.preprocess((given) => {
    if (!Array.isArray(given)) return given;
    const [first, ...others]: readonly unknown[] = given;
    return others.every((other) => other === first) ? first : given;
  }, value);
const tokenId = z.int().nonnegative();
const positive = z.number().positive();
const fraction = positive.max(1);
const factor = positive.default(1);
const share = z.number().nonnegative().lt(1);

const ropeSchema = z.object({
  rope_type: z.string().optional(),
  // The older name of rope_type.
  type: z.string().optional(),
  rope_theta: positive.optional(),
  partial_rotary_factor: fraction.nullish(),
  factor: positive.nullish(),
  // Hunyuan's, with the type `dynamic`.
  alpha: positive.nullish(),
  low_freq_factor: positive.optional(),
  high_freq_factor: positive.optional(),
  original_max_position_embeddings: count.nullish(),
  beta_fast: positive.nullish(),
  beta_slow: positive.nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  attention_factor: positive.nullish(),
  truncate: z.boolean().nullish(),
  short_factor: z.array(positive).nullish(),
  long_factor: z.array(positive).nullish(),
  short_mscale: positive.nullish(),
  long_mscale: positive.nullish(),
  // Llama 4's and Ministral 3's: queries grow with the position, from the original length on.
  llama_4_scaling_beta: z.number().nullish(),
  // Pairs of dimensions that turn by frames, rows and columns of images, one kind after the other.
  mrope_section: z.array(z.int().nonnegative()).length(3).nullish(),
  // They take turns.
  mrope_interleaved: z.boolean().nullish(),
});

/** Where layers with a sliding window have their own. */
const ropeByLayerTypeSchema = z.object({
  full_attention: ropeSchema,
  sliding_attention: ropeSchema.nullish(),
});

/** Fields that are read of a Hugging Face config.json. */
export const configSchema = z.looseObject({
  vocab_size: count.max(MODEL_LIMITS.vocabSize),
  hidden_size: width,
  // Left out by GPT-2: four times as much.
  intermediate_size: widths.nullish(),
  num_hidden_layers: count.max(MODEL_LIMITS.layers),
  num_attention_heads: heads,
  num_key_value_heads: heads.nullish(),
  head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  hidden_act: z.string().nullish(),
  // Gemma's name of hidden_act.
  hidden_activation: z.string().nullish(),
  // Left out by Whisper, see max_source_positions.
  max_position_embeddings: count.max(MODEL_LIMITS.positions),
  rms_norm_eps: positive.default(1e-6),
  rope_theta: positive.optional(),
  rope_local_base_freq: positive.nullish(),
  rope_scaling: ropeSchema.nullish(),
  // Since Transformers 5: rope_theta and rope_scaling in one object.
  rope_parameters: z.union([ropeByLayerTypeSchema, ropeSchema]).nullish(),
  partial_rotary_factor: fraction.nullish(),
  // MiniMax's name of that times head_dim.
  rotary_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  // Where Phi-3 has what others have in rope_scaling.
  original_max_position_embeddings: count.nullish(),
  // SmolLM3: by layer, 0 for no rotary embedding; or n, if every n-th layer has none.
  no_rope_layers: z.array(z.int()).nullish(),
  no_rope_layer_interval: count.nullish(),
  // Granite with windows: by layer, 0 for no rotary embedding.
  layer_rope_theta: z.array(z.number().nonnegative()).max(MODEL_LIMITS.layers).nullish(),
  // Llama 4: tokens of chunks that see themselves alone, in layers with rotary embedding; in those without,
  // queries are scaled from a position on.
  attention_chunk_size: count.nullish(),
  attn_temperature_tuning: z.union([z.boolean(), z.number()]).nullish(),
  floor_scale: count.nullish(),
  // Granite 4: `rope`, or none in any layer.
  position_embedding_type: z.string().nullish(),
  attention_bias: z.boolean().default(false),
  attention_out_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  lm_head_bias: z.boolean().default(false),
  tie_word_embeddings: z.boolean().default(false),
  architectures: z.array(z.string()).nullish(),
  // Qwen2-MoE has 0 for none.
  sliding_window: z.union([count, z.literal(0).transform(() => null)]).nullish(),
  use_sliding_window: z.boolean().default(false),
  max_window_layers: z.int().nonnegative().nullish(),
  // EXAONE 4 has a text, or 0, beside `layer_types`.
  sliding_window_pattern: z.union([count, z.literal(0), z.string()]).nullish(),
  // Transformers' name of it since layer_types.
  _sliding_window_pattern: count.nullish(),
  layer_types: z.array(z.string()).nullish(),
  query_pre_attn_scalar: positive.nullish(),
  attn_logit_softcapping: positive.nullish(),
  final_logit_softcapping: positive.nullish(),
  // Granite's factors.
  embedding_multiplier: positive.nullish(),
  attention_multiplier: positive.nullish(),
  residual_multiplier: positive.nullish(),
  logits_scaling: positive.nullish(),
  // MiniCPM's, which depend on sizes.
  scale_depth: positive.nullish(),
  dim_model_base: count.nullish(),
  sparse_config: z.unknown().optional(),
  // Falcon-H1's factors.
  attention_in_multiplier: factor,
  attention_out_multiplier: factor,
  key_multiplier: factor,
  ssm_in_multiplier: factor,
  ssm_out_multiplier: factor,
  ssm_multipliers: z.array(positive).length(5).nullish(),
  mlp_multipliers: z.array(positive).length(2).nullish(),
  // Cohere's, by which they are multiplied.
  logit_scale: positive.nullish(),
  // Width of MLPs, where intermediate_size is that of experts; MiniMax has 0 for none.
  shared_intermediate_size: z.union([widths, z.literal(0).transform(() => null)]).nullish(),
  // Gemma 4: heads of layers without a window, and whether values are their keys.
  global_head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  num_global_key_value_heads: heads.nullish(),
  // Since Transformers 5.20: the same by layer.
  per_layer_config: z
    .record(
      z.string(),
      z.object({
        head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
        num_key_value_heads: heads.nullish(),
      }),
    )
    .nullish(),
  attention_k_eq_v: z.boolean().default(false),
  // Last layers that read keys and values of layers before them; their MLPs may be twice as wide.
  num_kv_shared_layers: z.int().nonnegative().max(MODEL_LIMITS.layers).default(0),
  use_double_wide_mlp: z.boolean().default(false),
  // A second embedding, with a part for each layer; 0 for none.
  hidden_size_per_layer_input: z.union([width, z.literal(0)]).nullish(),
  vocab_size_per_layer_input: count.max(MODEL_LIMITS.vocabSize).nullish(),
  // Hidden states of each token, and the one that layers compute.
  altup_num_inputs: count.min(2).max(MODEL_LIMITS.hiddenStates).default(4),
  altup_active_idx: z.int().default(0),
  altup_correct_scale: z.boolean().default(true),
  laurel_rank: width.default(64),
  // By layer, the share of an MLP's gates that become 0, or, in GGUF files, how many deviations above their mean.
  activation_sparsity_pattern: z.union([share, z.array(share).max(MODEL_LIMITS.layers)]).nullish(),
  activation_sparsity_scale: z.array(z.number().nullable()).max(MODEL_LIMITS.layers).nullish(),
  // Attention from latents: widths of these, and dimensions of heads. Null where queries have none.
  q_lora_rank: width.nullish(),
  kv_lora_rank: width.nullish(),
  qk_nope_head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  qk_rope_head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  v_head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
  // Mixtures of experts.
  num_local_experts: z.int().nonnegative().max(MODEL_LIMITS.experts).nullish(),
  num_experts: z.int().nonnegative().max(MODEL_LIMITS.experts).nullish(),
  num_experts_per_tok: ofLayers(z.int().nonnegative().max(MODEL_LIMITS.experts)).nullish(),
  moe_intermediate_size: ofLayers(width).nullish(),
  // 0 where tokens share no expert.
  shared_expert_intermediate_size: z.union([width, z.literal(0)]).nullish(),
  n_shared_experts: ofLayers(z.int().nonnegative().max(MODEL_LIMITS.experts)).nullish(),
  // A token's experts are of some groups of them alone.
  n_group: count.max(MODEL_LIMITS.experts).nullish(),
  topk_group: count.max(MODEL_LIMITS.experts).nullish(),
  topk_method: z.string().nullish(),
  scoring_func: z.string().nullish(),
  moe_layer_freq: z.unknown().optional(),
  // By layer, `dense` or `sparse`.
  mlp_layer_types: z.array(z.string()).max(MODEL_LIMITS.layers).nullish(),
  routed_scaling_factor: positive.nullish(),
  router_jitter_noise: z.number().min(0).max(1).nullish(),
  // Layers before have an MLP.
  first_k_dense_replace: z.int().nonnegative().nullish(),
  // ERNIE's last one with experts, or -1.
  moe_layer_end_index: z.int().nullish(),
  norm_topk_prob: z.boolean().default(false),
  // Every n-th layer has experts; 0 for none.
  decoder_sparse_step: z.int().nonnegative().nullish(),
  mlp_only_layers: z.array(z.int()).nullish(),
  // Llama 4: layers with experts, and no others.
  moe_layers: z.array(z.int()).max(MODEL_LIMITS.layers).nullish(),
  swiglu_limit: positive.nullish(),
  swiglu_alpha: positive.nullish(),
  // Limit that OLMo clips queries, keys and values to.
  clip_qkv: z.number().nullish(),
  // Norms of queries and keys, in families that can have none.
  use_qk_norm: z.boolean().nullish(),
  // Ling's LM head, whose columns are divided by their lengths.
  norm_head: z.boolean().default(false),
  use_parallel_residual: z.boolean().default(false),
  // Falcon's and OPT's variants.
  alibi: z.boolean().nullish(),
  new_decoder_architecture: z.boolean().nullish(),
  multi_query: z.boolean().default(true),
  parallel_attn: z.boolean().default(true),
  do_layer_norm_before: z.boolean().default(true),
  word_embed_proj_dim: width.nullish(),
  // LFM2 and Bamba: layers that attend, where `layer_types` is left out, and its convolutions.
  full_attn_idxs: z.array(z.int()).max(MODEL_LIMITS.layers).nullish(),
  conv_L_cache: count.nullish(),
  conv_bias: z.boolean().default(false),
  // LFM3's gates of attention, and norms after both parts of a layer.
  use_attention_gate: z.boolean().default(true),
  use_sandwich_norm: z.boolean().default(true),
  // Its rule for the width of MLPs.
  block_auto_adjust_ff_dim: z.boolean().default(false),
  block_ffn_dim_multiplier: positive.nullish(),
  block_multiple_of: width.default(256),
  // Linear attention of Qwen3-Next and Qwen3.5; every n-th layer attends, where `layer_types` is left out.
  full_attention_interval: count.nullish(),
  linear_conv_kernel_dim: count.default(4),
  linear_key_head_dim: count.max(MODEL_LIMITS.headDim).default(128),
  linear_value_head_dim: count.max(MODEL_LIMITS.headDim).default(128),
  linear_num_key_heads: heads.default(16),
  linear_num_value_heads: heads.default(32),
  // Kimi Linear's, and which layers have it, and which attend, counted from 1.
  linear_attn_config: z
    .object({
      head_dim: count.max(MODEL_LIMITS.headDim).nullish(),
      num_heads: heads.nullish(),
      short_conv_kernel_size: count.nullish(),
      kda_layers: z.array(z.int()).max(MODEL_LIMITS.layers).nullish(),
      full_attn_layers: z.array(z.int()).max(MODEL_LIMITS.layers).nullish(),
    })
    .nullish(),
  mla_use_nope: z.boolean().default(true),
  // Nemotron-H: by layer a letter, where `layer_types` is left out.
  hybrid_override_pattern: z.string().max(MODEL_LIMITS.layers).nullish(),
  moe_latent_size: width.nullish(),
  // Mamba-2 in Granite 4; a limit that is no number is none.
  mamba_n_heads: heads.default(128),
  mamba_d_head: z.union([count.max(MODEL_LIMITS.headDim), z.literal('auto')]).nullish(),
  mamba_d_state: count.max(MODEL_LIMITS.headDim).default(256),
  mamba_n_groups: count.default(1),
  mamba_d_conv: count.default(4),
  mamba_expand: positive.default(2),
  mamba_conv_bias: z.boolean().default(true),
  mamba_proj_bias: z.boolean().default(false),
  // Taken from the layer after it, if that is another.
  projectors_bias: z.boolean().nullish(),
  mamba_d_ssm: width.nullish(),
  mamba_rms_norm: z.boolean().default(true),
  mamba_norm_before_gate: z.boolean().default(false),
  mamba_hidden_act: z.string().nullish(),
  time_step_min: z.number().nullish(),
  time_step_limit: z.tuple([z.number(), z.unknown()]).nullish(),
  // GPT-2's variants.
  scale_attn_weights: z.boolean().default(true),
  scale_attn_by_inverse_layer_idx: z.boolean().default(false),
  use_bidirectional_attention: z.union([z.boolean(), z.string()]).nullish(),
  // Qwen3-VL's layers that get more of an image.
  vision_config: z
    .looseObject({ deepstack_visual_indexes: z.array(z.int()).max(MODEL_LIMITS.layers).nullish() })
    .nullish(),
  // Whisper's: positions of its encoder's output, and of texts.
  max_source_positions: count.max(MODEL_LIMITS.speechPositions).nullish(),
  max_target_positions: count.max(MODEL_LIMITS.speechPositions).nullish(),
  quantization_config: z.unknown().optional(),
  // First name of it in compressed-tensors.
  compression_config: z.unknown().optional(),
  // MLX's name of it.
  quantization: z.unknown().optional(),
  bos_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId)]).nullish(),
});

export type HuggingFaceConfig = z.infer<typeof configSchema>;
