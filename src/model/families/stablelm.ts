import type { Family, KnownFamily } from './family.ts';
import { LLAMA, NO_BIAS, withLayer } from './llama.ts';

const STABLELM: Family = {
  ...LLAMA,
  modelType: 'stablelm',
  bias: { ...NO_BIAS, queryKeyValue: 'attention_bias' },
  norms: 'layer',
  names: {
    rms_norm_eps: 'layer_norm_eps',
    attention_bias: 'use_qkv_bias',
    use_qk_norm: 'qk_layernorm',
  },
  defaults: { rms_norm_eps: 1e-5, partial_rotary_factor: 0.25 },
};

export const STABLELMS: readonly KnownFamily[] = [
  {
    family: {
      ...STABLELM,
      variant: { use_parallel_residual: true },
      tensors: withLayer({ mlpNorm: null }),
    },
    gguf: null,
  },
  // GGUF files say which of the two they are.
  { family: STABLELM, gguf: { architecture: 'stablelm' } },
];
