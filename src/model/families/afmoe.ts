import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, SHARED_EXPERTS, withLayer } from './llama.ts';

/** Arcee's Trinity: gated attention, norms before and after both parts of a layer. */
const AFMOE: Family = {
  ...LLAMA,
  modelType: 'afmoe',
  bias: { ...LLAMA.bias, mlp: 'never' },
  slidingWindow: 'pattern',
  windowRope: 'only',
  attentionGates: { tensor: 'self_attn.gate_proj', per: 'dimension' },
  names: {
    sliding_window_pattern: 'global_attn_every_n_layers',
    first_k_dense_replace: 'num_dense_layers',
    n_shared_experts: 'num_shared_experts',
    routed_scaling_factor: 'route_scale',
    norm_topk_prob: 'route_norm',
    scoring_func: 'score_func',
  },
  defaults: {
    head_dim: 128,
    rms_norm_eps: 1e-5,
    sliding_window: 1024,
    sliding_window_pattern: 4,
    num_experts: 64,
    num_experts_per_tok: 6,
    moe_intermediate_size: 1408,
    n_shared_experts: 2,
    first_k_dense_replace: 1,
    norm_topk_prob: true,
  },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
  tensors: withLayer({
    headNorms: HEAD_NORMS,
    attentionOutputNorm: 'post_attention_layernorm',
    mlpNorm: 'pre_mlp_layernorm',
    mlpOutputNorm: 'post_mlp_layernorm',
    experts: {
      ...EXPERTS,
      router: 'mlp.router.gate',
      correction: 'mlp.expert_bias',
      shared: SHARED_EXPERTS,
    },
  }),
};

const SCALED: Family = { ...AFMOE, variant: { mup_enabled: true }, scalesEmbedding: true };

export const AFMOES: readonly KnownFamily[] = [
  {
    family: SCALED,
    // llama.cpp knows no others.
    gguf: { architecture: 'afmoe', extra: () => SCALED.variant },
  },
  { family: AFMOE, gguf: null },
];
