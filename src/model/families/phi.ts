import type { KnownFamily } from './family.ts';
import { BIAS_IN_LAYERS, BLOCK_SPARSE_EXPERTS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const PHIS: readonly KnownFamily[] = [
  {
    family: {
      ...LLAMA,
      modelType: 'phi',
      bias: { ...BIAS_IN_LAYERS, lmHead: 'always' },
      norms: 'layer',
      gatesMlp: false,
      names: { rms_norm_eps: 'layer_norm_eps', use_qk_norm: 'qk_layernorm' },
      defaults: { rms_norm_eps: 1e-5, hidden_act: 'gelu_new', partial_rotary_factor: 0.5 },
      fixed: { use_parallel_residual: true },
      tensors: {
        ...withLayer({
          attentionOutput: 'self_attn.dense',
          mlpNorm: null,
          gateUp: ['mlp.fc1'],
          down: 'mlp.fc2',
        }),
        finalNorm: 'model.final_layernorm',
      },
    },
    gguf: { architecture: 'phi2' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'phi3',
      bias: NO_BIAS,
      tensors: withLayer({
        queryKeyValue: ['self_attn.qkv_proj'],
        gateUp: ['mlp.gate_up_proj'],
      }),
    },
    gguf: { architecture: 'phi3' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'phimoe',
      bias: { ...LLAMA.bias, mlp: 'never', lmHead: 'lm_head_bias' },
      norms: 'layer',
      defaults: {
        rms_norm_eps: 1e-5,
        rope_theta: 1_000_000,
        num_experts: 16,
        num_experts_per_tok: 2,
        router_jitter_noise: 0.01,
      },
      experts: { normalizesShares: 'always', scoring: 'sparse mixer', bias: false, stacked: null },
      tensors: withLayer({ experts: BLOCK_SPARSE_EXPERTS }),
    },
    gguf: {
      architecture: 'phimoe',
      // Those of Phi-3.5 MoE, which its files do not say.
      extraOfRope: { short_mscale: 1.243163121016122, long_mscale: 1.243163121016122 },
    },
  },
];
