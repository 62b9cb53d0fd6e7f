import type { KnownFamily } from './family.ts';
import { LLAMA } from './llama.ts';

export const SEED_OSS: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'seed_oss',
    bias: { ...LLAMA.bias, attentionOutput: 'attention_out_bias' },
    defaults: { head_dim: 128, attention_bias: true },
  },
  gguf: { architecture: 'seed_oss', mlpNorm: 'post_attention_norm' },
};
