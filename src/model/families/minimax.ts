import type { KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const MINIMAX_M2: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'minimax_m2',
    bias: NO_BIAS,
    defaults: { head_dim: 128, rope_theta: 5_000_000, num_experts: 256, num_experts_per_tok: 8 },
    experts: { normalizesShares: 'always', scoring: 'sigmoid', bias: false, stacked: null },
    tensors: withLayer({
      headNorms: { ...HEAD_NORMS, over: 'all heads' },
      experts: {
        router: 'block_sparse_moe.gate',
        gate: 'block_sparse_moe.experts.*.w1',
        up: 'block_sparse_moe.experts.*.w3',
        down: 'block_sparse_moe.experts.*.w2',
        correction: 'block_sparse_moe.e_score_correction_bias',
        shared: null,
      },
    }),
  },
  gguf: { architecture: 'minimax-m2' },
};
