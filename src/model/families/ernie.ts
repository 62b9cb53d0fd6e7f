import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, LLAMA, SHARED_EXPERTS, withLayer } from './llama.ts';

const ERNIE4_5: Family = {
  ...LLAMA,
  modelType: 'ernie4_5',
  rotaryPairs: 'neighbours',
  names: { attention_bias: 'use_bias', mlp_bias: 'use_bias' },
  defaults: {
    head_dim: 128,
    num_key_value_heads: 2,
    rms_norm_eps: 1e-5,
    rope_theta: 500_000,
    tie_word_embeddings: true,
  },
};

export const ERNIES: readonly KnownFamily[] = [
  { family: ERNIE4_5, gguf: { architecture: 'ernie4_5' } },
  {
    family: {
      ...ERNIE4_5,
      modelType: 'ernie4_5_moe',
      names: {
        ...ERNIE4_5.names,
        num_experts: 'moe_num_experts',
        num_experts_per_tok: 'moe_k',
        n_shared_experts: 'moe_num_shared_experts',
        decoder_sparse_step: 'moe_layer_interval',
        first_k_dense_replace: 'moe_layer_start_index',
      },
      defaults: {
        rms_norm_eps: 1e-5,
        rope_theta: 500_000,
        tie_word_embeddings: true,
        num_key_value_heads: 4,
        num_experts: 64,
        num_experts_per_tok: 6,
        moe_intermediate_size: 1536,
        n_shared_experts: 2,
        first_k_dense_replace: 1,
      },
      experts: {
        normalizesShares: 'always',
        scoring: 'softmax',
        bias: false,
        correctionIsRow: true,
        stacked: null,
      },
      tensors: withLayer({
        experts: {
          ...EXPERTS,
          correction: 'mlp.moe_statics.e_score_correction_bias',
          shared: SHARED_EXPERTS,
        },
      }),
    },
    gguf: {
      architecture: 'ernie4_5-moe',
      // Files say another width than that of several together.
      extra: () => ({ shared_expert_intermediate_size: undefined }),
    },
  },
];
