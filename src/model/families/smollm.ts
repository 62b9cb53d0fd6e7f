import type { KnownFamily } from './family.ts';
import { LLAMA } from './llama.ts';

export const SMOLLMS: readonly KnownFamily[] = [
  {
    family: {
      ...LLAMA,
      modelType: 'smollm3',
      slidingWindow: 'flag',
      defaults: { rope_theta: 2_000_000, no_rope_layer_interval: 4, tie_word_embeddings: true },
    },
    gguf: { architecture: 'smollm3', pairsRows: true },
  },
];
