import type { KnownFamily } from './family.ts';
import { LLAMA } from './llama.ts';

export const ERNIE4_5: KnownFamily = {
  family: {
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
  },
  gguf: { architecture: 'ernie4_5' },
};
