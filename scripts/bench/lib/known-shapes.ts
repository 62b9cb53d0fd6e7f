/** Shapes of well-known models, from config.json of each. Frequencies of long contexts are left unscaled. */
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

const LLAMA = {
  model_type: 'llama',
  architectures: ['LlamaForCausalLM'],
  rms_norm_eps: 1e-5,
  rope_theta: 500_000,
  hidden_act: 'silu',
  head_dim: 64,
};

const LLAMA_3 = {
  ...LLAMA,
  vocab_size: 128_256,
  max_position_embeddings: 131_072,
  tie_word_embeddings: true,
};

const QWEN_2 = {
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
  vocab_size: 151_936,
  head_dim: 64,
  max_position_embeddings: 32_768,
  rope_theta: 1_000_000,
  rms_norm_eps: 1e-6,
  hidden_act: 'silu',
  tie_word_embeddings: true,
};

export const KNOWN_SHAPES = {
  'smollm2-135m': PRESETS['smollm2-135m'],
  'smollm2-360m': {
    ...PRESETS['smollm2-135m'],
    hidden_size: 960,
    intermediate_size: 2560,
    num_hidden_layers: 32,
    num_attention_heads: 15,
    num_key_value_heads: 5,
  },
  'qwen2.5-0.5b': {
    ...QWEN_2,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
  },
  'qwen3-0.6b': {
    ...QWEN_2,
    model_type: 'qwen3',
    architectures: ['Qwen3ForCausalLM'],
    max_position_embeddings: 40_960,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
  },
  'llama-3.2-1b': {
    ...LLAMA_3,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    num_key_value_heads: 8,
  },
  'tinyllama-1.1b': {
    ...LLAMA,
    vocab_size: 32_000,
    hidden_size: 2048,
    intermediate_size: 5632,
    num_hidden_layers: 22,
    num_attention_heads: 32,
    num_key_value_heads: 4,
    rope_theta: 10_000,
    max_position_embeddings: 2048,
    tie_word_embeddings: false,
  },
  'qwen2.5-1.5b': {
    ...QWEN_2,
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
    num_key_value_heads: 2,
    head_dim: 128,
  },
  'granite-3.2-2b': {
    ...LLAMA,
    model_type: 'granite',
    architectures: ['GraniteForCausalLM'],
    vocab_size: 49_155,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 40,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    rope_theta: 10_000_000,
    max_position_embeddings: 131_072,
    tie_word_embeddings: true,
    attention_multiplier: 0.015625,
    embedding_multiplier: 12,
    residual_multiplier: 0.22,
    logits_scaling: 8,
  },
  'llama-3.2-3b': {
    ...LLAMA_3,
    hidden_size: 3072,
    intermediate_size: 8192,
    num_hidden_layers: 28,
    num_attention_heads: 24,
    num_key_value_heads: 8,
    head_dim: 128,
  },
  'mistral-7b': {
    ...LLAMA,
    vocab_size: 32_768,
    hidden_size: 4096,
    intermediate_size: 14_336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 128,
    max_position_embeddings: 32_768,
    tie_word_embeddings: false,
  },
  'llama-3.1-8b': {
    ...LLAMA_3,
    hidden_size: 4096,
    intermediate_size: 14_336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 128,
    tie_word_embeddings: false,
  },
  'gemma-4-e2b': {
    model_type: 'gemma4_text',
    architectures: ['Gemma4ForCausalLM'],
    vocab_size: 262_144,
    vocab_size_per_layer_input: 262_144,
    hidden_size: 1536,
    hidden_size_per_layer_input: 256,
    intermediate_size: 6144,
    use_double_wide_mlp: true,
    num_hidden_layers: 35,
    num_kv_shared_layers: 20,
    layer_types: Array.from({ length: 35 }, (_, layer) =>
      (layer + 1) % 5 === 0 ? 'full_attention' : 'sliding_attention',
    ),
    num_attention_heads: 8,
    num_key_value_heads: 1,
    head_dim: 256,
    global_head_dim: 512,
    sliding_window: 512,
    final_logit_softcapping: 30,
    max_position_embeddings: 131_072,
    tie_word_embeddings: true,
  },
} as const satisfies Readonly<Record<string, object>>;

export type ShapeName = keyof typeof KNOWN_SHAPES;

/** @throws Error for a flag's value that is none */
export function requireShape(name: string) {
  const shape = Object.entries(KNOWN_SHAPES).find(([known]) => known === name)?.[1];
  if (!shape) throw new Error(`--shape is of ${Object.keys(KNOWN_SHAPES).join(', ')}`);
  return shape;
}
