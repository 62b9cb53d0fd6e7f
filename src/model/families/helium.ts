import type { KnownFamily } from './family.ts';
import { LLAMA } from './llama.ts';

/** Kyutai's Helium: Llama with pairs of neighbours, and no bias after attention. */
export const HELIUM: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'helium',
    bias: { ...LLAMA.bias, attentionOutput: 'never' },
    rotaryPairs: 'neighbours',
    defaults: { head_dim: 128, rms_norm_eps: 1e-8, rope_theta: 100_000 },
  },
  gguf: null,
};
