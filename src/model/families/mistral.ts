import type { KnownFamily } from './family.ts';
import { BLOCK_SPARSE_EXPERTS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const MISTRALS: readonly KnownFamily[] = [
  // GGUF files call it llama.
  {
    // Null where it has no window.
    family: { ...LLAMA, modelType: 'mistral', bias: NO_BIAS, defaults: { sliding_window: 4096 } },
    gguf: null,
  },
  {
    family: { ...LLAMA, modelType: 'ministral3', bias: NO_BIAS, defaults: { rms_norm_eps: 1e-5 } },
    gguf: { architecture: 'mistral3', pairsRows: true },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'mixtral',
      bias: NO_BIAS,
      defaults: {
        rms_norm_eps: 1e-5,
        rope_theta: 1_000_000,
        num_experts: 8,
        num_experts_per_tok: 2,
      },
      experts: { normalizesShares: 'always', scoring: 'softmax', bias: false, stacked: null },
      tensors: withLayer({ experts: BLOCK_SPARSE_EXPERTS }),
    },
    gguf: { architecture: 'llama', ifFileHas: 'experts', pairsRows: true },
  },
];
