import type { KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const EXAONE4: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'exaone4',
    bias: NO_BIAS,
    slidingWindow: 'pattern',
    windowRope: 'only',
    defaults: { rms_norm_eps: 1e-5, sliding_window: 4096, sliding_window_pattern: 4 },
    tensors: withLayer({
      attentionNorm: null,
      headNorms: HEAD_NORMS,
      attentionOutputNorm: 'post_attention_layernorm',
      mlpNorm: null,
      mlpOutputNorm: 'post_feedforward_layernorm',
    }),
  },
  // Files without windows do not say so.
  gguf: { architecture: 'exaone4' },
};
