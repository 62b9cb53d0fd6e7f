import type { Family, KnownFamily } from './family.ts';
import { LATENT } from './latent.ts';
import { LLAMA, NO_BIAS, withLayer } from './llama.ts';

/** Llama with factors of embeddings, of what layers add, and of logits. */
const MINICPM: Family = {
  ...LLAMA,
  modelType: 'minicpm',
  bias: NO_BIAS,
  names: { embedding_multiplier: 'scale_emb' },
  // As its class has it, whose files say nothing.
  defaults: { tie_word_embeddings: true },
};

/** Factors that files may not say, and llama.cpp has in its code. */
const FACTORS = { scale_depth: 1.4, dim_model_base: 256 };

/** With attention from latents. */
const MINICPM3: Family = {
  ...MINICPM,
  modelType: 'minicpm3',
  bias: LLAMA.bias,
  latentAttention: LATENT,
  defaults: {
    ...FACTORS,
    embedding_multiplier: 12,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    kv_lora_rank: 256,
    q_lora_rank: 768,
    qk_nope_head_dim: 64,
    qk_rope_head_dim: 32,
  },
  tensors: withLayer({ queryKeyValue: [] }),
};

export const MINICPMS: readonly KnownFamily[] = [
  {
    family: MINICPM,
    gguf: {
      architecture: 'minicpm',
      pairsRows: true,
      // Files of the first converter.
      unstated: ({ layers, hidden }) => ({
        embedding_multiplier: 12,
        residual_multiplier: FACTORS.scale_depth / Math.sqrt(layers),
        logits_scaling: hidden / FACTORS.dim_model_base,
      }),
    },
  },
  { family: MINICPM3, gguf: { architecture: 'minicpm3' } },
];
