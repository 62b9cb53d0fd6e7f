import type { Family, KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, withLayer } from './llama.ts';

/** Command R: an MLP that reads what attention reads, and norms without a bias. */
const COHERE: Family = {
  ...LLAMA,
  modelType: 'cohere',
  bias: { ...LLAMA.bias, mlp: 'never' },
  rotaryPairs: 'neighbours',
  norms: 'layer without bias',
  names: { rms_norm_eps: 'layer_norm_eps' },
  defaults: {
    rms_norm_eps: 1e-5,
    rope_theta: 500_000,
    logit_scale: 0.0625,
    tie_word_embeddings: true,
  },
  fixed: { use_parallel_residual: true },
  tensors: withLayer({ mlpNorm: null }),
};

export const COHERES: readonly KnownFamily[] = [
  {
    // Command R+.
    family: {
      ...COHERE,
      variant: { use_qk_norm: true },
      tensors: withLayer({ mlpNorm: null, headNorms: { ...HEAD_NORMS, over: 'each head' } }),
    },
    gguf: null,
  },
  { family: COHERE, gguf: { architecture: 'command-r', logitScale: 'logit_scale' } },
  {
    family: {
      ...COHERE,
      modelType: 'cohere2',
      slidingWindow: 'pattern',
      windowRope: 'only',
      defaults: {
        ...COHERE.defaults,
        rope_theta: 10_000,
        sliding_window: 4096,
        sliding_window_pattern: 4,
      },
    },
    gguf: { architecture: 'cohere2', logitScale: 'logit_scale' },
  },
];
