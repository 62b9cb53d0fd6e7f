import type { KnownFamily } from './family.ts';
import { LATENT } from './latent.ts';
import { BLOCK_SPARSE_EXPERTS, LLAMA, withLayer } from './llama.ts';

/** Most layers are Kimi Delta Attention; the others attend from latents, without positions. */
export const KIMI_LINEAR: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'kimi_linear',
    latentAttention: LATENT,
    names: {
      max_position_embeddings: 'model_max_length',
      num_experts_per_tok: 'num_experts_per_token',
      n_shared_experts: 'num_shared_experts',
      n_group: 'num_expert_group',
      norm_topk_prob: 'moe_renormalize',
      scoring_func: 'moe_router_activation_func',
      linear_key_head_dim: 'linear_head_dim',
      linear_value_head_dim: 'linear_head_dim',
      linear_num_key_heads: 'linear_num_heads',
      linear_num_value_heads: 'linear_num_heads',
    },
    defaults: {
      rms_norm_eps: 1e-5,
      kv_lora_rank: 512,
      qk_nope_head_dim: 128,
      qk_rope_head_dim: 64,
      v_head_dim: 128,
      linear_num_key_heads: 32,
      num_experts: 256,
      num_experts_per_tok: 8,
      moe_intermediate_size: 1024,
      n_shared_experts: 1,
      first_k_dense_replace: 1,
      routed_scaling_factor: 2.446,
      norm_topk_prob: true,
    },
    fixed: { position_embedding_type: 'none', rope_parameters: null, rope_scaling: null },
    experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
    recurrence: {
      kind: 'gated delta',
      layerTypes: ['linear_attention'],
      fusedOrder: 'by kind',
      tensors: {
        input: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.g_a_proj'],
        gates: ['self_attn.b_proj', 'self_attn.f_a_proj'],
        convolution: ['self_attn.q_conv1d', 'self_attn.k_conv1d', 'self_attn.v_conv1d'],
        decay: 'self_attn.A_log',
        stepBias: 'self_attn.dt_bias',
        narrow: { outputGates: 'self_attn.g_b_proj', decays: 'self_attn.f_b_proj' },
        norm: 'self_attn.o_norm',
        output: 'self_attn.o_proj',
      },
    },
    tensors: withLayer({
      queryKeyValue: [],
      experts: {
        ...BLOCK_SPARSE_EXPERTS,
        correction: 'block_sparse_moe.gate.e_score_correction_bias',
        shared: {
          gateUp: [
            'block_sparse_moe.shared_experts.gate_proj',
            'block_sparse_moe.shared_experts.up_proj',
          ],
          down: 'block_sparse_moe.shared_experts.down_proj',
          share: null,
        },
      },
    }),
  },
  gguf: null,
};
