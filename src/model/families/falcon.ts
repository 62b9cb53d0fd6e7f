import type { Family, KnownFamily } from './family.ts';
import { LLAMA, LLAMA_LAYER } from './llama.ts';

/** As the 11B: norms that attention and MLP share, and keys that several queries share. */
const FALCON: Family = {
  ...LLAMA,
  modelType: 'falcon',
  variant: { new_decoder_architecture: true, num_ln_in_parallel_attn: 1 },
  norms: 'layer',
  gatesMlp: false,
  fusedOrder: 'by group',
  names: {
    intermediate_size: 'ffn_hidden_size',
    num_key_value_heads: 'num_kv_heads',
    rms_norm_eps: 'layer_norm_epsilon',
    hidden_act: 'activation',
    attention_bias: 'bias',
    mlp_bias: 'bias',
  },
  defaults: {
    rms_norm_eps: 1e-5,
    hidden_act: 'gelu',
    max_position_embeddings: 2048,
    new_decoder_architecture: false,
    tie_word_embeddings: true,
  },
  fixed: { use_parallel_residual: true },
  tensors: {
    embedding: 'transformer.word_embeddings',
    positions: null,
    firstPosition: 0,
    layerPrefix: 'transformer.h',
    layer: {
      ...LLAMA_LAYER,
      queryKeyValue: ['self_attention.query_key_value'],
      attentionOutput: 'self_attention.dense',
      mlpNorm: null,
      gateUp: ['mlp.dense_h_to_4h'],
      down: 'mlp.dense_4h_to_h',
    },
    finalNorm: 'transformer.ln_f',
    lmHead: 'lm_head',
  },
};

const FALCON_40B: Family = {
  ...FALCON,
  variant: { new_decoder_architecture: true },
  tensors: {
    ...FALCON.tensors,
    layer: { ...FALCON.tensors.layer, attentionNorm: 'ln_attn', mlpNorm: 'ln_mlp' },
  },
};

/** All queries share a key, whatever `num_kv_heads` says. */
const FALCON_7B: Family = {
  ...FALCON,
  variant: {},
  fixed: { ...FALCON.fixed, num_key_value_heads: 1 },
};

const extra = (norms: number) => () => ({
  new_decoder_architecture: true,
  num_ln_in_parallel_attn: norms,
});

export const FALCONS: readonly KnownFamily[] = [
  // In GGUF files the 7B is an 11B with one key.
  { family: FALCON, gguf: { architecture: 'falcon', extra: extra(1) } },
  {
    family: FALCON_40B,
    gguf: {
      architecture: 'falcon',
      ifFileHas: 'two norms',
      attentionNorm: 'attn_norm_2',
      mlpNorm: 'attn_norm',
      extra: extra(2),
    },
  },
  { family: FALCON_7B, gguf: null },
];
