import type { Family, KnownFamily } from './family.ts';
import { GEMMA, GEMMA_LAYER } from './gemma.ts';
import { LAYER_INPUTS } from './gemma4.ts';
import { HEAD_NORMS, LLAMA } from './llama.ts';

const GEMMA3N: Family = {
  ...GEMMA,
  modelType: 'gemma3n_text',
  normsAddOne: false,
  slidingWindow: 'pattern',
  windowRope: 'unscaled',
  varied: {
    inputs: LAYER_INPUTS,
    streams: {
      projection: 'model.altup_projections.*',
      unembedding: 'model.altup_unembed_projections.*',
      router: 'altup.modality_router',
      routerNorm: 'altup.router_norm',
      prediction: 'altup.prediction_coefs',
      correction: 'altup.correction_coefs',
      scale: 'altup.correct_output_scale',
      residual: {
        down: 'laurel.linear_left',
        up: 'laurel.linear_right',
        norm: 'laurel.post_laurel_norm',
      },
    },
  },
  // Values that configurations may leave out.
  defaults: {
    vocab_size: 262_400,
    hidden_size: 2048,
    intermediate_size: 16_384,
    num_hidden_layers: 35,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 256,
    max_position_embeddings: 32_768,
    hidden_activation: 'gelu_pytorch_tanh',
    sliding_window: 512,
    sliding_window_pattern: 5,
    final_logit_softcapping: 30,
    rope_theta: 1_000_000,
    rope_local_base_freq: 10_000,
    num_kv_shared_layers: 15,
    hidden_size_per_layer_input: 256,
    vocab_size_per_layer_input: 262_144,
    altup_num_inputs: 4,
    laurel_rank: 64,
    tie_word_embeddings: true,
  },
  // Scores are not scaled.
  fixed: { query_pre_attn_scalar: 1 },
  tensors: { ...LLAMA.tensors, layer: { ...GEMMA_LAYER, headNorms: HEAD_NORMS } },
};

/** E2B and E4B. */
export const GEMMA3NS: readonly KnownFamily[] = [
  { family: GEMMA3N, gguf: { architecture: 'gemma3n' } },
];
