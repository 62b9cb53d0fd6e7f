import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, NO_BIAS, SHARED_EXPERTS, withLayer } from './llama.ts';

const EXAONE_MOE: Family = {
  ...LLAMA,
  modelType: 'exaone_moe',
  bias: NO_BIAS,
  slidingWindow: 'pattern',
  windowRope: 'only',
  names: { n_shared_experts: 'num_shared_experts' },
  defaults: {
    rms_norm_eps: 1e-5,
    sliding_window: 4096,
    sliding_window_pattern: 4,
    num_experts: 64,
    num_experts_per_tok: 8,
    moe_intermediate_size: 1024,
    n_shared_experts: 1,
    first_k_dense_replace: 1,
    routed_scaling_factor: 2.5,
    norm_topk_prob: true,
  },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
  tensors: withLayer({
    headNorms: HEAD_NORMS,
    experts: { ...EXPERTS, correction: 'mlp.e_score_correction_bias', shared: SHARED_EXPERTS },
  }),
};

const EXAONE4: KnownFamily = {
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

export const EXAONES: readonly KnownFamily[] = [
  EXAONE4,
  { family: EXAONE_MOE, gguf: { architecture: 'exaone-moe' } },
];
