import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, withLayer } from './llama.ts';

const OLMO2: Family = {
  ...LLAMA,
  modelType: 'olmo2',
  bias: { ...LLAMA.bias, mlp: 'never' },
  defaults: { rms_norm_eps: 1e-5 },
  tensors: withLayer({
    attentionNorm: null,
    headNorms: { ...HEAD_NORMS, over: 'all heads' },
    attentionOutputNorm: 'post_attention_layernorm',
    mlpNorm: null,
    mlpOutputNorm: 'post_feedforward_layernorm',
  }),
};

export const OLMOS: readonly KnownFamily[] = [
  { family: OLMO2, gguf: { architecture: 'olmo2' } },
  {
    family: {
      ...OLMO2,
      modelType: 'olmo3',
      slidingWindow: 'pattern',
      windowRope: 'unscaled',
      defaults: {
        ...OLMO2.defaults,
        rope_theta: 500_000,
        sliding_window: 4096,
        sliding_window_pattern: 4,
      },
    },
    gguf: { architecture: 'olmo2', ifFileHas: 'windows' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'olmoe',
      bias: { ...LLAMA.bias, mlp: 'never' },
      defaults: { rms_norm_eps: 1e-5, num_experts: 64, num_experts_per_tok: 8 },
      experts: {
        normalizesShares: 'norm_topk_prob',
        scoring: 'softmax',
        bias: false,
        stacked: null,
      },
      tensors: withLayer({ headNorms: { ...HEAD_NORMS, over: 'all heads' }, experts: EXPERTS }),
    },
    gguf: { architecture: 'olmoe' },
  },
];
