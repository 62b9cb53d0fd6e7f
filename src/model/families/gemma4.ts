import type { ExpertTensorNames, Family, KnownFamily } from './family.ts';
import { GEMMA, GEMMA_LAYER } from './gemma.ts';
import { HEAD_NORMS, LLAMA } from './llama.ts';
import type { LayerInputNames, VariedLayers } from './varied-layers.ts';

const LAYER = { ...GEMMA_LAYER, headNorms: HEAD_NORMS };

/** Gemma 3n's too. */
export const LAYER_INPUTS: LayerInputNames = {
  embedding: 'model.embed_tokens_per_layer',
  projection: 'model.per_layer_model_projection',
  projectionNorm: 'model.per_layer_projection_norm',
  gate: 'per_layer_input_gate',
  output: 'per_layer_projection',
  norm: 'post_per_layer_input_norm',
};

const VARIED: VariedLayers = { inputs: LAYER_INPUTS, scalar: 'layer_scalar' };

const EXPERTS: ExpertTensorNames = {
  router: 'router.proj',
  gate: 'experts.*.gate_proj',
  up: 'experts.*.up_proj',
  down: 'experts.*.down_proj',
  correction: null,
  factors: 'router.per_expert_scale',
  shared: null,
};

/** Dense models, and the small ones whose layers have embeddings of their own. */
const GEMMA4: Family = {
  ...GEMMA,
  modelType: 'gemma4_text',
  normsAddOne: false,
  slidingWindow: 'pattern',
  windowRope: 'unscaled',
  varied: VARIED,
  // Values that configurations may leave out.
  defaults: {
    vocab_size: 262_144,
    hidden_size: 2304,
    intermediate_size: 9216,
    num_hidden_layers: 30,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    global_head_dim: 512,
    max_position_embeddings: 131_072,
    hidden_activation: 'gelu_pytorch_tanh',
    sliding_window: 512,
    sliding_window_pattern: 6,
    hidden_size_per_layer_input: 256,
    rope_parameters: {
      full_attention: {
        rope_type: 'proportional',
        partial_rotary_factor: 0.25,
        rope_theta: 1_000_000,
      },
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
    },
    tie_word_embeddings: true,
  },
  // Scores are not scaled.
  fixed: { query_pre_attn_scalar: 1 },
  tensors: { ...LLAMA.tensors, layer: LAYER },
};

const withExperts = (experts: ExpertTensorNames): Family['tensors'] => ({
  ...GEMMA4.tensors,
  layer: { ...LAYER, experts },
});

export const GEMMA4S: readonly KnownFamily[] = [
  {
    family: {
      ...GEMMA4,
      varied: {
        ...VARIED,
        besideMlp: {
          mlpNorm: 'post_feedforward_layernorm_1',
          inputNorm: 'pre_feedforward_layernorm_2',
          outputNorm: 'post_feedforward_layernorm_2',
          routerScale: 'router.scale',
        },
      },
      variant: { enable_moe_block: true },
      names: { ...GEMMA4.names, num_experts_per_tok: 'top_k_experts' },
      experts: {
        normalizesShares: 'always',
        scoring: 'softmax',
        bias: false,
        stacked: {
          gateUp: 'experts.gate_up_proj',
          down: 'experts.down_proj',
          gateUpBias: null,
          downBias: null,
          order: 'rows, gates first',
        },
      },
      tensors: withExperts(EXPERTS),
    },
    gguf: {
      architecture: 'gemma4',
      ifFileHas: 'experts',
      form: { tensors: withExperts({ ...EXPERTS, gate: null, up: 'experts.*.gate_up_proj' }) },
    },
  },
  { family: GEMMA4, gguf: { architecture: 'gemma4' } },
  {
    // 12B, whose files of GGUF are as those of the others.
    family: {
      ...GEMMA4,
      modelType: 'gemma4_unified_text',
      defaults: {
        ...GEMMA4.defaults,
        max_position_embeddings: 262_144,
        sliding_window: 1024,
        hidden_size_per_layer_input: 0,
      },
    },
    gguf: null,
  },
];
