import type { KnownFamily } from './family.ts';
import { LLAMA, NO_BIAS } from './llama.ts';

/** Llama with factors of embeddings, of what layers add, and of logits. */
export const MINICPM: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'minicpm',
    bias: NO_BIAS,
    names: { embedding_multiplier: 'scale_emb' },
    // As its class has it, whose files say nothing.
    defaults: { tie_word_embeddings: true },
  },
  gguf: { architecture: 'minicpm', pairsRows: true },
};
