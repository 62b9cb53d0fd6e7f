/**
 * Shapes for models with random weights, as Hugging Face configurations: for benchmarks, which
 * need a model's size and not its knowledge, and for tests.
 */
export const PRESETS = {
  'smollm2-135m': {
    model_type: 'llama',
    vocab_size: 49_152,
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    head_dim: 64,
    max_position_embeddings: 8192,
    rope_theta: 100_000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    bos_token_id: 1,
    eos_token_id: 2,
  },
  tiny: {
    model_type: 'llama',
    vocab_size: 512,
    hidden_size: 64,
    intermediate_size: 176,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 16,
    max_position_embeddings: 256,
    rope_theta: 10_000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    bos_token_id: 1,
    eos_token_id: 2,
  },
} as const;

export type PresetName = keyof typeof PRESETS;
