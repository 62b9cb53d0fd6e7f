import type { Family, LayerTensorNames } from './families.ts';
import { GPT_FAMILIES } from './gpt-families.ts';
import { GRANITE, HEAD_NORMS, LLAMA, LLAMA_LAYER, NO_BIAS } from './llama-family.ts';
import { MIXTURES } from './mixture-families.ts';

const GEMMA_LAYER: LayerTensorNames = {
  ...LLAMA_LAYER,
  attentionOutputNorm: 'post_attention_layernorm',
  mlpNorm: 'pre_feedforward_layernorm',
  mlpOutputNorm: 'post_feedforward_layernorm',
};

const GEMMA2: Family = {
  ...LLAMA,
  modelType: 'gemma2',
  bias: { ...LLAMA.bias, mlp: 'never' },
  slidingWindow: 'pattern',
  normsAddOne: true,
  scalesEmbedding: true,
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

const OLMO2: Family = {
  ...LLAMA,
  modelType: 'olmo2',
  bias: { ...LLAMA.bias, mlp: 'never' },
  defaults: { rms_norm_eps: 1e-5 },
  tensors: {
    ...LLAMA.tensors,
    layer: {
      ...LLAMA_LAYER,
      attentionNorm: null,
      headNorms: { ...HEAD_NORMS, over: 'all heads' },
      attentionOutputNorm: 'post_attention_layernorm',
      mlpNorm: null,
      mlpOutputNorm: 'post_feedforward_layernorm',
    },
  },
};

/** Every family that the graph builder knows. A new one is an entry here. */
export const FAMILIES: readonly Family[] = [
  LLAMA,
  { ...LLAMA, modelType: 'mistral', bias: NO_BIAS },
  { ...LLAMA, modelType: 'ministral3', bias: NO_BIAS, defaults: { rms_norm_eps: 1e-5 } },
  {
    ...LLAMA,
    modelType: 'qwen2',
    bias: { ...NO_BIAS, queryKeyValue: 'always' },
    slidingWindow: 'flag',
  },
  {
    ...LLAMA,
    modelType: 'qwen3',
    bias: { ...LLAMA.bias, mlp: 'never' },
    slidingWindow: 'flag',
    tensors: { ...LLAMA.tensors, layer: { ...LLAMA_LAYER, headNorms: HEAD_NORMS } },
  },
  {
    ...LLAMA,
    modelType: 'phi3',
    bias: NO_BIAS,
    tensors: {
      ...LLAMA.tensors,
      layer: {
        ...LLAMA_LAYER,
        queryKeyValue: ['self_attn.qkv_proj'],
        gateUp: ['mlp.gate_up_proj'],
      },
    },
  },
  GEMMA2,
  {
    ...GEMMA2,
    modelType: 'gemma3_text',
    localRopeInWindows: true,
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
  {
    ...LLAMA,
    modelType: 'smollm3',
    slidingWindow: 'flag',
    defaults: { rope_theta: 2_000_000, no_rope_layer_interval: 4, tie_word_embeddings: true },
  },
  GRANITE,
  {
    ...GRANITE,
    modelType: 'granitemoehybrid',
    bias: { ...LLAMA.bias, mlp: 'never' },
    defaults: { ...GRANITE.defaults, num_local_experts: 8, position_embedding_type: null },
    tensors: {
      ...LLAMA.tensors,
      layer: {
        ...LLAMA_LAYER,
        gateUp: ['shared_mlp.input_linear'],
        down: 'shared_mlp.output_linear',
      },
    },
  },
  OLMO2,
  {
    ...OLMO2,
    modelType: 'olmo3',
    slidingWindow: 'pattern',
    localRopeInWindows: true,
    defaults: {
      ...OLMO2.defaults,
      rope_theta: 500_000,
      sliding_window: 4096,
      sliding_window_pattern: 4,
    },
  },
  ...MIXTURES,
  ...GPT_FAMILIES,
];
