import type { KnownFamily } from './family.ts';
import { LLAMA, withLayer } from './llama.ts';

export const HUNYUAN: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'hunyuan_v1_dense',
    bias: { ...LLAMA.bias, mlp: 'never' },
    defaults: { rms_norm_eps: 1e-5 },
    tensors: withLayer({
      headNorms: {
        query: 'self_attn.query_layernorm',
        key: 'self_attn.key_layernorm',
        over: 'head',
        isAfterRope: true,
      },
    }),
  },
  gguf: {
    architecture: 'hunyuan-dense',
    // Some say 1, which is none.
    extra: () => ({ num_local_experts: undefined }),
  },
};
