/**
 * When a linear layer has a bias: always, never, or if the flag of that name in config.json is set.
 */
export type BiasRule = 'always' | 'never' | 'attention_bias' | 'mlp_bias';

/** Names of a layer's tensors, without `.weight` and `.bias`, relative to the layer. */
export interface LayerTensorNames {
  readonly attentionNorm: string;
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly attentionOutput: string;
  readonly mlpNorm: string;
  readonly gate: string;
  readonly up: string;
  readonly down: string;
}

/** What sets one architecture family apart from the others that the decoder graph can express. */
export interface Family {
  /** `model_type` in config.json. */
  readonly modelType: string;
  readonly bias: {
    readonly queryKeyValue: BiasRule;
    readonly attentionOutput: BiasRule;
    readonly mlp: BiasRule;
  };
  /**
   * The flag in config.json that says whether `sliding_window` applies; null if it applies
   * whenever it is set.
   */
  readonly slidingWindowFlag: 'use_sliding_window' | null;
  readonly tensors: {
    readonly embedding: string;
    readonly layerPrefix: string;
    readonly layer: LayerTensorNames;
    readonly finalNorm: string;
    readonly lmHead: string;
  };
}

/** Tensor names of Llama, which most later families kept. */
const LLAMA_TENSORS: Family['tensors'] = {
  embedding: 'model.embed_tokens',
  layerPrefix: 'model.layers',
  layer: {
    attentionNorm: 'input_layernorm',
    query: 'self_attn.q_proj',
    key: 'self_attn.k_proj',
    value: 'self_attn.v_proj',
    attentionOutput: 'self_attn.o_proj',
    mlpNorm: 'post_attention_layernorm',
    gate: 'mlp.gate_proj',
    up: 'mlp.up_proj',
    down: 'mlp.down_proj',
  },
  finalNorm: 'model.norm',
  lmHead: 'lm_head',
};

/** Every family that the graph builder knows. A new one is an entry here. */
export const FAMILIES: readonly Family[] = [
  {
    modelType: 'llama',
    bias: { queryKeyValue: 'attention_bias', attentionOutput: 'attention_bias', mlp: 'mlp_bias' },
    slidingWindowFlag: null,
    tensors: LLAMA_TENSORS,
  },
  {
    modelType: 'mistral',
    bias: { queryKeyValue: 'never', attentionOutput: 'never', mlp: 'never' },
    slidingWindowFlag: null,
    tensors: LLAMA_TENSORS,
  },
  {
    modelType: 'qwen2',
    bias: { queryKeyValue: 'always', attentionOutput: 'never', mlp: 'never' },
    slidingWindowFlag: 'use_sliding_window',
    tensors: LLAMA_TENSORS,
  },
];

/** A layer's tensor names in full, without `.weight` and `.bias`. */
export function layerTensorNames({ tensors }: Family, layer: number): LayerTensorNames {
  const full = (name: string): string => `${tensors.layerPrefix}.${layer}.${name}`;
  const names = tensors.layer;
  return {
    attentionNorm: full(names.attentionNorm),
    query: full(names.query),
    key: full(names.key),
    value: full(names.value),
    attentionOutput: full(names.attentionOutput),
    mlpNorm: full(names.mlpNorm),
    gate: full(names.gate),
    up: full(names.up),
    down: full(names.down),
  };
}
