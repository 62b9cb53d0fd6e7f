import type { KnownFamily } from './family.ts';
import { BIAS_IN_LAYERS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

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
];
