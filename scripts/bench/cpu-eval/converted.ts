import { KNOWN_SHAPES } from '../lib/known-shapes.ts';

/**
 * Shapes whose checkpoints Transformers writes, and whose GGUF files llama.cpp's own converter, from config.json of
 * each: their text part alone.
 */
export const CONVERTED_SHAPES = {
  'qwen3.5-0.8b': {
    model_type: 'qwen3_5_text',
    architectures: ['Qwen3_5ForCausalLM'],
    vocab_size: 248_320,
    hidden_size: 1024,
    intermediate_size: 3584,
    num_hidden_layers: 24,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 256,
    full_attention_interval: 4,
    linear_num_key_heads: 16,
    linear_num_value_heads: 16,
    linear_key_head_dim: 128,
    linear_value_head_dim: 128,
    linear_conv_kernel_dim: 4,
    hidden_act: 'silu',
    rms_norm_eps: 1e-6,
    max_position_embeddings: 262_144,
    tie_word_embeddings: true,
    rope_parameters: {
      rope_type: 'default',
      rope_theta: 10_000_000,
      partial_rotary_factor: 0.25,
      mrope_interleaved: true,
      mrope_section: [11, 11, 10],
    },
  },
  'gemma-4-e2b': KNOWN_SHAPES['gemma-4-e2b'],
} as const;

export type ConvertedName = keyof typeof CONVERTED_SHAPES;

export function isConverted(name: string): name is ConvertedName {
  return Object.hasOwn(CONVERTED_SHAPES, name);
}
