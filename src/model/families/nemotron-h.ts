import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, LLAMA, withLayer } from './llama.ts';
import { MIXER_TENSORS } from './mamba.ts';

/** Layers are Mamba-2, attention without positions, an MLP or experts: one of these each, after a norm. */
const NEMOTRON_H: Family = {
  ...LLAMA,
  modelType: 'nemotron_h',
  gatesMlp: false,
  hasSingleBlocks: true,
  names: {
    layer_types: 'layers_block_type',
    rms_norm_eps: 'layer_norm_epsilon',
    hidden_act: 'mlp_hidden_act',
    num_local_experts: 'n_routed_experts',
    shared_expert_intermediate_size: 'moe_shared_expert_intermediate_size',
    mamba_n_heads: 'mamba_num_heads',
    mamba_d_head: 'mamba_head_dim',
    mamba_d_state: 'ssm_state_size',
    mamba_n_groups: 'n_groups',
    mamba_d_conv: 'conv_kernel',
    mamba_conv_bias: 'use_conv_bias',
    mamba_proj_bias: 'use_bias',
  },
  defaults: {
    head_dim: 128,
    rms_norm_eps: 1e-5,
    hidden_act: 'relu2',
    num_experts_per_tok: 2,
    moe_intermediate_size: 7688,
    shared_expert_intermediate_size: 7688,
    norm_topk_prob: true,
    mamba_d_head: 64,
    mamba_d_state: 128,
    mamba_n_groups: 8,
    time_step_min: 0.001,
  },
  fixed: { position_embedding_type: 'none', attention_bias: false },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
  recurrence: {
    kind: 'selective scan',
    layerTypes: ['linear_attention', 'mamba'],
    tensors: MIXER_TENSORS,
    hasOwnWidth: true,
    hasLeastStep: true,
  },
  tensors: {
    ...withLayer({
      attentionNorm: 'norm',
      queryKeyValue: ['mixer.q_proj', 'mixer.k_proj', 'mixer.v_proj'],
      attentionOutput: 'mixer.o_proj',
      mlpNorm: 'norm',
      gateUp: ['mixer.up_proj'],
      down: 'mixer.down_proj',
      experts: {
        ...EXPERTS,
        router: 'mixer.gate',
        gate: null,
        up: 'mixer.experts.*.up_proj',
        down: 'mixer.experts.*.down_proj',
        correction: 'mixer.gate.e_score_correction_bias',
        shared: {
          gateUp: ['mixer.shared_experts.up_proj'],
          down: 'mixer.shared_experts.down_proj',
          share: null,
        },
      },
    }),
    embedding: 'model.embeddings',
    finalNorm: 'model.norm_f',
  },
};

export const NEMOTRON_HS: readonly KnownFamily[] = [
  { family: NEMOTRON_H, gguf: { architecture: 'nemotron_h', mlpNorm: 'attn_norm' } },
  { family: NEMOTRON_H, gguf: { architecture: 'nemotron_h_moe', mlpNorm: 'attn_norm' } },
];
