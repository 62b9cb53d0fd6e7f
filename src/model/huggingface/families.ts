/**
 * When a linear layer has a bias: always, never, or if the flag of that name in config.json is set.
 */
export type BiasRule = 'always' | 'never' | 'attention_bias' | 'mlp_bias';

/** Norms of queries and keys: of each head by itself, or of all heads together. */
export interface HeadNorms {
  readonly query: string;
  readonly key: string;
  readonly over: 'head' | 'all heads';
}

/** Names of a layer's tensors, without `.weight` and `.bias`, relative to the layer. */
export interface LayerTensorNames {
  /** Norm before attention; null if there is none. */
  readonly attentionNorm: string | null;
  /** Query, key and value: one tensor for each, or one with all three stacked. */
  readonly queryKeyValue: readonly string[];
  /** Norms of queries and keys before rotary embedding; null if there are none. */
  readonly headNorms: HeadNorms | null;
  readonly attentionOutput: string;
  /** Norm of what attention adds to the hidden state; null if there is none. */
  readonly attentionOutputNorm: string | null;
  /** Norm before the MLP; null if there is none. */
  readonly mlpNorm: string | null;
  /** Gate and up: likewise. */
  readonly gateUp: readonly string[];
  readonly down: string;
  /** Norm of what the MLP adds to the hidden state; null if there is none. */
  readonly mlpOutputNorm: string | null;
}

/**
 * Which layers attend to `sliding_window` tokens only, where config.json has no `layer_types`: all of
 * them; with the flag `use_sliding_window` those from `max_window_layers` on; or all but every
 * `sliding_window_pattern`-th.
 */
export type WindowRule = 'all' | 'flag' | 'pattern';

/** What sets one architecture family apart from the others that the decoder graph can express. */
export interface Family {
  /** `model_type` in config.json. */
  readonly modelType: string;
  readonly bias: {
    readonly queryKeyValue: BiasRule;
    readonly attentionOutput: BiasRule;
    readonly mlp: BiasRule;
  };
  readonly slidingWindow: WindowRule;
  /** Layers with a sliding window have rotary frequencies of their own, which are not scaled. */
  readonly localRopeInWindows: boolean;
  /** Norms multiply by 1 plus their weight. */
  readonly normsAddOne: boolean;
  /** Embeddings are multiplied by sqrt(hidden_size). */
  readonly scalesEmbedding: boolean;
  /** Defaults for what config.json leaves out, by its own names. */
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly tensors: {
    readonly embedding: string;
    readonly layerPrefix: string;
    readonly layer: LayerTensorNames;
    readonly finalNorm: string;
    readonly lmHead: string;
  };
}

const LLAMA_LAYER: LayerTensorNames = {
  attentionNorm: 'input_layernorm',
  queryKeyValue: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  headNorms: null,
  attentionOutput: 'self_attn.o_proj',
  attentionOutputNorm: null,
  mlpNorm: 'post_attention_layernorm',
  gateUp: ['mlp.gate_proj', 'mlp.up_proj'],
  down: 'mlp.down_proj',
  mlpOutputNorm: null,
};

/** Llama, which most later families vary. */
const LLAMA: Family = {
  modelType: 'llama',
  bias: { queryKeyValue: 'attention_bias', attentionOutput: 'attention_bias', mlp: 'mlp_bias' },
  slidingWindow: 'all',
  localRopeInWindows: false,
  normsAddOne: false,
  scalesEmbedding: false,
  defaults: {},
  tensors: {
    embedding: 'model.embed_tokens',
    layerPrefix: 'model.layers',
    layer: LLAMA_LAYER,
    finalNorm: 'model.norm',
    lmHead: 'lm_head',
  },
};

const NO_BIAS: Family['bias'] = { queryKeyValue: 'never', attentionOutput: 'never', mlp: 'never' };
const HEAD_NORMS: HeadNorms = {
  query: 'self_attn.q_norm',
  key: 'self_attn.k_norm',
  over: 'head',
};

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

const GRANITE: Family = {
  ...LLAMA,
  modelType: 'granite',
  // Not one over the root of head_dim, as elsewhere.
  defaults: { attention_multiplier: 1 },
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
];

/** A layer's tensor names in full, without `.weight` and `.bias`. */
export function layerTensorNames({ tensors }: Family, layer: number): LayerTensorNames {
  const full = (name: string): string => `${tensors.layerPrefix}.${layer}.${name}`;
  const fullOrNull = (name: string | null) => (name === null ? null : full(name));
  const names = tensors.layer;
  return {
    attentionNorm: fullOrNull(names.attentionNorm),
    queryKeyValue: names.queryKeyValue.map(full),
    headNorms: names.headNorms && {
      ...names.headNorms,
      query: full(names.headNorms.query),
      key: full(names.headNorms.key),
    },
    attentionOutput: full(names.attentionOutput),
    attentionOutputNorm: fullOrNull(names.attentionOutputNorm),
    mlpNorm: fullOrNull(names.mlpNorm),
    gateUp: names.gateUp.map(full),
    down: full(names.down),
    mlpOutputNorm: fullOrNull(names.mlpOutputNorm),
  };
}
