import type { Family, KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

/** LFM2: most layers are short convolutions. */
const LFM2: Family = {
  ...LLAMA,
  modelType: 'lfm2',
  bias: NO_BIAS,
  names: {
    rms_norm_eps: 'norm_eps',
    intermediate_size: 'block_ff_dim',
    tie_word_embeddings: 'tie_embedding',
  },
  defaults: {
    rms_norm_eps: 1e-5,
    rope_theta: 1_000_000,
    tie_word_embeddings: true,
    block_auto_adjust_ff_dim: true,
    conv_L_cache: 3,
  },
  recurrence: {
    kind: 'short convolution',
    layerTypes: ['conv'],
    tensors: { input: 'conv.in_proj', convolution: 'conv.conv', output: 'conv.out_proj' },
  },
  tensors: {
    ...withLayer({
      attentionNorm: 'operator_norm',
      headNorms: {
        query: 'self_attn.q_layernorm',
        key: 'self_attn.k_layernorm',
        over: 'head',
        isAfterRope: false,
      },
      attentionOutput: 'self_attn.out_proj',
      mlpNorm: 'ffn_norm',
      gateUp: ['feed_forward.w1', 'feed_forward.w3'],
      down: 'feed_forward.w2',
    }),
    finalNorm: 'model.embedding_norm',
  },
};

/** Experts in all layers but the first. */
const LFM2_MOE: Family = {
  ...LFM2,
  modelType: 'lfm2_moe',
  names: {
    rms_norm_eps: 'norm_eps',
    tie_word_embeddings: 'tie_embedding',
    first_k_dense_replace: 'num_dense_layers',
  },
  defaults: {
    rms_norm_eps: 1e-5,
    rope_theta: 1_000_000,
    tie_word_embeddings: true,
    conv_L_cache: 3,
    num_experts: 32,
    num_experts_per_tok: 4,
    moe_intermediate_size: 1792,
    first_k_dense_replace: 2,
    norm_topk_prob: true,
  },
  experts: {
    normalizesShares: 'norm_topk_prob',
    scoring: 'sigmoid',
    bias: false,
    stacked: null,
  },
  tensors: {
    ...LFM2.tensors,
    layer: {
      ...LFM2.tensors.layer,
      experts: {
        router: 'feed_forward.gate',
        gate: 'feed_forward.experts.*.w1',
        up: 'feed_forward.experts.*.w3',
        down: 'feed_forward.experts.*.w2',
        correction: 'feed_forward.expert_bias',
        shared: null,
      },
    },
  },
};

/** LFM3: some layers that attend have a window, each head a gate, and norms stand before and after both parts. */
const LFM3: Family = {
  ...LFM2,
  modelType: 'lfm3',
  slidingWindow: 'pattern',
  windowRope: 'unscaled',
  attentionGates: { tensor: 'self_attn.gate_proj', per: 'head' },
  names: { rms_norm_eps: 'norm_eps' },
  defaults: {
    rms_norm_eps: 1e-5,
    head_dim: 128,
    tie_word_embeddings: true,
    conv_L_cache: 7,
    sliding_window: 256,
    rope_parameters: {
      full_attention: {
        rope_type: 'proportional',
        partial_rotary_factor: 0.5,
        rope_theta: 1_000_000,
      },
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
    },
  },
  tensors: {
    ...LFM2.tensors,
    layer: {
      ...LFM2.tensors.layer,
      headNorms: HEAD_NORMS,
      attentionOutput: 'self_attn.o_proj',
      attentionOutputNorm: 'post_operator_norm',
      mlpOutputNorm: 'post_ffn_norm',
    },
  },
};

export const LFMS: readonly KnownFamily[] = [
  {
    family: LFM2,
    gguf: {
      architecture: 'lfm2',
      finalNorm: 'token_embd_norm',
      // Widths of MLPs are what came of the rule.
      extra: () => ({ block_auto_adjust_ff_dim: false }),
    },
  },
  { family: LFM2_MOE, gguf: { architecture: 'lfm2moe', finalNorm: 'token_embd_norm' } },
  { family: LFM3, gguf: null },
];
