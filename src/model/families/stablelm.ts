import type { Family, KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

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

/** Norms of queries and keys in StableLM 2 12B. */
const NORMED = {
  headNorms: {
    ...HEAD_NORMS,
    query: 'self_attn.q_layernorm.norms.*',
    key: 'self_attn.k_layernorm.norms.*',
    over: 'each head',
  },
} as const;
/** Layers that have one norm, since MLPs read what attention reads. */
const PARALLEL = { mlpNorm: null };

export const STABLELMS: readonly KnownFamily[] = [
  {
    family: {
      ...STABLELM,
      variant: { use_parallel_residual: true, use_qk_norm: true },
      tensors: withLayer({ ...PARALLEL, ...NORMED }),
    },
    gguf: null,
  },
  {
    family: {
      ...STABLELM,
      variant: { use_parallel_residual: true },
      tensors: withLayer(PARALLEL),
    },
    gguf: null,
  },
  {
    family: { ...STABLELM, variant: { use_qk_norm: true }, tensors: withLayer(NORMED) },
    gguf: null,
  },
  // GGUF files say which of them they are.
  { family: STABLELM, gguf: { architecture: 'stablelm' } },
];
