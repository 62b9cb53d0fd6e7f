import type { Family, GgufNames, KnownFamily, LayerTensorNames } from './family.ts';
import { HEAD_NORMS, LLAMA, LLAMA_LAYER } from './llama.ts';

export const GEMMA_LAYER: LayerTensorNames = {
  ...LLAMA_LAYER,
  attentionOutputNorm: 'post_attention_layernorm',
  mlpNorm: 'pre_feedforward_layernorm',
  mlpOutputNorm: 'post_feedforward_layernorm',
};

export const GEMMA: Family = {
  ...LLAMA,
  modelType: 'gemma',
  bias: { ...LLAMA.bias, mlp: 'never' },
  normsAddOne: true,
  scalesEmbedding: true,
  defaults: { head_dim: 256, tie_word_embeddings: true },
  // The first configurations say `gelu`.
  fixed: { hidden_activation: 'gelu_pytorch_tanh' },
};

const GEMMA2: Family = {
  ...GEMMA,
  modelType: 'gemma2',
  slidingWindow: 'pattern',
  fixed: {},
  defaults: {
    head_dim: 256,
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 256,
    attn_logit_softcapping: 50,
    final_logit_softcapping: 30,
    sliding_window: 4096,
    sliding_window_pattern: 2,
    tie_word_embeddings: true,
  },
  tensors: { ...LLAMA.tensors, layer: GEMMA_LAYER },
};

/** @param layersOfLargest layers of its largest model, which scales attention by the model's width over its heads */
const gguf = (architecture: string, layersOfLargest: number): GgufNames => ({
  architecture,
  extra: ({ layers, hidden, heads, headDim }) => ({
    query_pre_attn_scalar: layers === layersOfLargest ? hidden / heads : headDim,
  }),
});

export const GEMMAS: readonly KnownFamily[] = [
  { family: GEMMA, gguf: { architecture: 'gemma' } },
  { family: GEMMA2, gguf: gguf('gemma2', 46) },
  {
    family: {
      ...GEMMA2,
      modelType: 'vaultgemma',
      tensors: {
        ...LLAMA.tensors,
        layer: { ...LLAMA_LAYER, mlpNorm: 'pre_feedforward_layernorm' },
      },
    },
    gguf: null,
  },
  {
    family: {
      ...GEMMA2,
      modelType: 'gemma3_text',
      windowRope: 'unscaled',
      // All that configurations inside of multimodal models leave out.
      defaults: {
        vocab_size: 262_208,
        num_attention_heads: 8,
        num_key_value_heads: 4,
        head_dim: 256,
        max_position_embeddings: 131_072,
        hidden_activation: 'gelu_pytorch_tanh',
        query_pre_attn_scalar: 256,
        rope_theta: 1_000_000,
        rope_local_base_freq: 10_000,
        sliding_window: 4096,
        sliding_window_pattern: 6,
        tie_word_embeddings: true,
      },
      tensors: { ...LLAMA.tensors, layer: { ...GEMMA_LAYER, headNorms: HEAD_NORMS } },
    },
    gguf: gguf('gemma3', 62),
  },
];
