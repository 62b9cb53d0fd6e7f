import type { Family, KnownFamily } from './family.ts';
import {
  EXPERTS,
  HEAD_NORMS,
  LLAMA,
  LLAMA_LAYER,
  NO_BIAS,
  SHARED_EXPERTS,
  withLayer,
} from './llama.ts';

const LAYER = { ...LLAMA_LAYER, gateUp: ['mlp.gate_up_proj'] };

const GLM: Family = {
  ...LLAMA,
  modelType: 'glm',
  bias: { ...NO_BIAS, queryKeyValue: 'attention_bias' },
  rotaryPairs: 'neighbours',
  defaults: {
    head_dim: 128,
    num_key_value_heads: 2,
    rms_norm_eps: 1.5625e-7,
    attention_bias: true,
    partial_rotary_factor: 0.5,
  },
  tensors: withLayer(LAYER),
};

const GLM4_MOE: Family = {
  ...LLAMA,
  modelType: 'glm4_moe',
  bias: GLM.bias,
  names: { num_experts: 'n_routed_experts' },
  defaults: {
    rms_norm_eps: 1e-5,
    partial_rotary_factor: 0.5,
    num_experts: 128,
    num_experts_per_tok: 8,
    moe_intermediate_size: 1408,
    n_shared_experts: 1,
    first_k_dense_replace: 1,
    norm_topk_prob: true,
  },
  experts: {
    normalizesShares: 'norm_topk_prob',
    scoring: 'sigmoid',
    bias: false,
    stacked: null,
  },
  tensors: withLayer({
    experts: {
      ...EXPERTS,
      correction: 'mlp.gate.e_score_correction_bias',
      shared: SHARED_EXPERTS,
    },
  }),
};

const GLM4: Family = {
  ...GLM,
  modelType: 'glm4',
  tensors: withLayer({
    ...LAYER,
    attentionOutputNorm: 'post_self_attn_layernorm',
    mlpOutputNorm: 'post_mlp_layernorm',
  }),
};

export const GLMS: readonly KnownFamily[] = [
  { family: GLM, gguf: { architecture: 'chatglm' } },
  { family: GLM4, gguf: { architecture: 'glm4' } },
  {
    // Text models of those that see, whose rows the converter puts in order.
    family: GLM4,
    gguf: { architecture: 'glm4', ifFileHas: 'image sections', form: { rotaryPairs: 'halves' } },
  },
  {
    family: {
      ...GLM4_MOE,
      variant: { use_qk_norm: true },
      tensors: withLayer({ ...GLM4_MOE.tensors.layer, headNorms: HEAD_NORMS }),
    },
    gguf: { architecture: 'glm4moe', mlpNorm: 'post_attention_norm' },
  },
  { family: GLM4_MOE, gguf: null },
];
