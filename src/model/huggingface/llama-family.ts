import type { Family, HeadNorms, LayerTensorNames } from './families.ts';

export const LLAMA_LAYER: LayerTensorNames = {
  attentionNorm: 'input_layernorm',
  queryKeyValue: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  headNorms: null,
  sinks: null,
  attentionOutput: 'self_attn.o_proj',
  attentionOutputNorm: null,
  mlpNorm: 'post_attention_layernorm',
  gateUp: ['mlp.gate_proj', 'mlp.up_proj'],
  down: 'mlp.down_proj',
  mlpOutputNorm: null,
  experts: null,
};

/** Llama, which most later families vary. */
export const LLAMA: Family = {
  modelType: 'llama',
  bias: { queryKeyValue: 'attention_bias', attentionOutput: 'attention_bias', mlp: 'mlp_bias' },
  slidingWindow: 'all',
  localRopeInWindows: false,
  norms: 'rms',
  normsAddOne: false,
  gatesMlp: true,
  fusedOrder: 'by kind',
  storesTransposed: false,
  scalesEmbedding: false,
  defaults: {},
  names: {},
  experts: null,
  tensors: {
    embedding: 'model.embed_tokens',
    positions: null,
    layerPrefix: 'model.layers',
    layer: LLAMA_LAYER,
    finalNorm: 'model.norm',
    lmHead: 'lm_head',
  },
};

export const NO_BIAS: Family['bias'] = {
  queryKeyValue: 'never',
  attentionOutput: 'never',
  mlp: 'never',
};
export const HEAD_NORMS: HeadNorms = {
  query: 'self_attn.q_norm',
  key: 'self_attn.k_norm',
  over: 'head',
};

export const GRANITE: Family = {
  ...LLAMA,
  modelType: 'granite',
  // Not one over the root of head_dim, as elsewhere.
  defaults: { attention_multiplier: 1 },
};
