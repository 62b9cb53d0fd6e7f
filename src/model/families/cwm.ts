import type { KnownFamily } from './family.ts';
import { LLAMA } from './llama.ts';

/** Meta's Code World Model: Llama with windows in three layers of four. */
export const CWM: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'cwm',
    bias: { ...LLAMA.bias, queryKeyValue: 'never', attentionOutput: 'never' },
    slidingWindow: 'pattern, whole first',
    defaults: {
      head_dim: 128,
      rms_norm_eps: 1e-5,
      sliding_window: 8192,
      sliding_window_pattern: 4,
      rope_theta: 1_000_000,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 16,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 8192,
      },
    },
  },
  gguf: null,
};
