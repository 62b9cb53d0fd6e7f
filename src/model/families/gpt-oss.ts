import type { KnownFamily } from './family.ts';
import { EXPERTS, LLAMA, withLayer } from './llama.ts';

export const GPT_OSS: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'gpt_oss',
    bias: { ...LLAMA.bias, mlp: 'always' },
    slidingWindow: 'pattern',
    defaults: {
      attention_bias: true,
      head_dim: 64,
      rms_norm_eps: 1e-5,
      rope_theta: 150_000,
      rope_scaling: {
        rope_type: 'yarn',
        factor: 32,
        truncate: false,
        original_max_position_embeddings: 4096,
      },
      sliding_window: 128,
      sliding_window_pattern: 2,
      num_experts: 128,
      num_experts_per_tok: 4,
      swiglu_limit: 7,
      swiglu_alpha: 1.702,
    },
    experts: {
      normalizesShares: 'always',
      scoring: 'softmax',
      bias: true,
      stacked: {
        gateUp: 'mlp.experts.gate_up_proj',
        down: 'mlp.experts.down_proj',
        gateUpBias: 'mlp.experts.gate_up_proj_bias',
        downBias: 'mlp.experts.down_proj_bias',
        order: 'columns, alternating',
      },
    },
    tensors: withLayer({
      sinks: 'self_attn.sinks',
      experts: { ...EXPERTS, router: 'mlp.router' },
    }),
  },
  gguf: {
    architecture: 'gpt-oss',
    mlpNorm: 'post_attention_norm',
    extraOfRope: { truncate: false },
  },
};
