import type { Family, KnownFamily } from './family.ts';
import { LLAMA, withLayer } from './llama.ts';

/** Llama with MLPs of two matrices and the square of ReLU between them. */
const SQUARED_RELU: Family = {
  ...LLAMA,
  gatesMlp: false,
  defaults: { rms_norm_eps: 1e-5, hidden_act: 'relu2' },
  tensors: withLayer({ gateUp: ['mlp.up_proj'] }),
};

export const SQUARED_RELUS: readonly KnownFamily[] = [
  {
    family: { ...SQUARED_RELU, modelType: 'arcee' },
    gguf: { architecture: 'arcee', pairsRows: true },
  },
  {
    family: {
      ...SQUARED_RELU,
      modelType: 'nemotron',
      norms: 'layer',
      normsAddOne: true,
      names: { rms_norm_eps: 'norm_eps' },
      defaults: { ...SQUARED_RELU.defaults, partial_rotary_factor: 0.5 },
    },
    gguf: { architecture: 'nemotron' },
  },
];
