import type {
  ExpertTensorNames,
  Family,
  HeadNorms,
  KnownFamily,
  LayerTensorNames,
  SharedExpertNames,
} from './family.ts';

export const LLAMA_LAYER: LayerTensorNames = {
  attentionNorm: 'input_layernorm',
  queryKeyValue: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  headNorms: null,
  sinks: null,
  attentionOutput: 'self_attn.o_proj',
  attentionOutputNorm: null,
  mlpNorm: 'post_attention_layernorm',
  gateUp: ['mlp.gate_proj', 'mlp.up_proj'],
  activation: null,
  down: 'mlp.down_proj',
  mlpOutputNorm: null,
  experts: null,
};

/** Llama: what later families vary, each value with its meaning in `Family`. */
export const LLAMA: Family = {
  modelType: 'llama',
  variant: {},
  bias: {
    queryKeyValue: 'attention_bias',
    attentionOutput: 'attention_bias',
    mlp: 'mlp_bias',
    lmHead: 'never',
  },
  slidingWindow: 'all',
  windowRope: 'same',
  rotaryPairs: 'halves',
  norms: 'rms',
  normsAddOne: false,
  gatesMlp: true,
  fusedOrder: 'by kind',
  storesTransposed: false,
  scalesEmbedding: false,
  defaults: {},
  fixed: {},
  names: {},
  experts: null,
  tensors: {
    embedding: 'model.embed_tokens',
    positions: null,
    firstPosition: 0,
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
  lmHead: 'never',
};

export const BIAS_IN_LAYERS: Family['bias'] = {
  queryKeyValue: 'always',
  attentionOutput: 'always',
  mlp: 'always',
  lmHead: 'never',
};

export const HEAD_NORMS: HeadNorms = {
  query: 'self_attn.q_norm',
  key: 'self_attn.k_norm',
  over: 'head',
  isAfterRope: false,
};

/** Experts as most mixtures name them. */
export const EXPERTS: ExpertTensorNames = {
  router: 'mlp.gate',
  gate: 'mlp.experts.*.gate_proj',
  up: 'mlp.experts.*.up_proj',
  down: 'mlp.experts.*.down_proj',
  correction: null,
  shared: null,
};

/** Experts as Mixtral names them. */
export const BLOCK_SPARSE_EXPERTS: ExpertTensorNames = {
  router: 'block_sparse_moe.gate',
  gate: 'block_sparse_moe.experts.*.w1',
  up: 'block_sparse_moe.experts.*.w3',
  down: 'block_sparse_moe.experts.*.w2',
  correction: null,
  shared: null,
};

/** Experts that every token has besides its own, stored as one. */
export const SHARED_EXPERTS: SharedExpertNames = {
  gateUp: ['mlp.shared_experts.gate_proj', 'mlp.shared_experts.up_proj'],
  down: 'mlp.shared_experts.down_proj',
  share: null,
};

/** Llama's tensors, but for some of a layer. */
export const withLayer = (layer: Partial<LayerTensorNames>): Family['tensors'] => ({
  ...LLAMA.tensors,
  layer: { ...LLAMA_LAYER, ...layer },
});

export const LLAMAS: readonly KnownFamily[] = [
  { family: LLAMA, gguf: { architecture: 'llama', pairsRows: true } },
];
