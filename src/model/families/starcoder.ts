import type { KnownFamily } from './family.ts';
import { LLAMA, withLayer } from './llama.ts';

export const STARCODER2: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'starcoder2',
    norms: 'layer',
    gatesMlp: false,
    names: { rms_norm_eps: 'norm_epsilon', attention_bias: 'use_bias', mlp_bias: 'use_bias' },
    defaults: {
      rms_norm_eps: 1e-5,
      attention_bias: true,
      mlp_bias: true,
      hidden_act: 'gelu_pytorch_tanh',
      tie_word_embeddings: true,
    },
    tensors: withLayer({ gateUp: ['mlp.c_fc'], down: 'mlp.c_proj' }),
  },
  gguf: { architecture: 'starcoder2' },
};
