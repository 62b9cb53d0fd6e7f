import { PRESETS } from '../../src/model/huggingface/presets.ts';

const LLAMA = {
  model_type: 'llama',
  max_position_embeddings: 4096,
  rope_theta: 500_000,
  rms_norm_eps: 1e-5,
  bos_token_id: 1,
  eos_token_id: 2,
} as const;

/** Sizes of well-known models, as Hugging Face configurations; all of them in Llama's architecture. */
export const SHAPES = {
  tiny: PRESETS.tiny,
  '135m': PRESETS['smollm2-135m'],
  '0.5b': {
    ...LLAMA,
    vocab_size: 151_936,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    head_dim: 64,
    tie_word_embeddings: true,
  },
  '1b': {
    ...LLAMA,
    vocab_size: 128_256,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 64,
    tie_word_embeddings: true,
  },
  '8b': {
    ...LLAMA,
    vocab_size: 128_256,
    hidden_size: 4096,
    intermediate_size: 14_336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 128,
    tie_word_embeddings: false,
  },
} as const;

export type ShapeName = keyof typeof SHAPES;

export function shapeNamed(name: string): (typeof SHAPES)[ShapeName] {
  const [, shape] = Object.entries(SHAPES).find(([known]) => known === name) ?? [];
  if (!shape) {
    throw new RangeError(`no shape "${name}"; there are ${Object.keys(SHAPES).join(', ')}`);
  }
  return shape;
}
