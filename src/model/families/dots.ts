import type { KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, SHARED_EXPERTS, withLayer } from './llama.ts';

/** Attention as in Qwen3, experts as in DeepSeek V3. */
export const DOTS1: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'dots1',
    bias: { ...LLAMA.bias, mlp: 'never' },
    slidingWindow: 'flag',
    names: { num_experts: 'n_routed_experts' },
    defaults: { sliding_window: 4096, max_window_layers: 62 },
    // Layers from max_window_layers on have a window, whatever the flag says.
    fixed: { use_sliding_window: true },
    experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
    tensors: withLayer({
      headNorms: HEAD_NORMS,
      experts: {
        ...EXPERTS,
        correction: 'mlp.gate.e_score_correction_bias',
        shared: SHARED_EXPERTS,
      },
    }),
  },
  gguf: { architecture: 'dots1' },
};
