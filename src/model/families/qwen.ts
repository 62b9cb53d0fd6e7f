import type { ExpertRules } from './expert-rules.ts';
import type { Family, KnownFamily, SharedExpertNames } from './family.ts';
import type { GatedDeltaNames, GatedDeltaRules } from './recurrence.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

const DELTA: GatedDeltaNames = {
  input: ['linear_attn.in_proj_qkv', 'linear_attn.in_proj_z'],
  gates: ['linear_attn.in_proj_b', 'linear_attn.in_proj_a'],
  convolution: ['linear_attn.conv1d'],
  decay: 'linear_attn.A_log',
  stepBias: 'linear_attn.dt_bias',
  norm: 'linear_attn.norm',
  output: 'linear_attn.out_proj',
};

const QWEN_EXPERTS: ExpertRules = {
  normalizesShares: 'norm_topk_prob',
  scoring: 'softmax',
  bias: false,
  stacked: null,
};

/** With a share of its own of each token. */
const SHARED_EXPERT: SharedExpertNames = {
  gateUp: ['mlp.shared_expert.gate_proj', 'mlp.shared_expert.up_proj'],
  down: 'mlp.shared_expert.down_proj',
  share: 'mlp.shared_expert_gate',
};

/** Three layers of four have states in place of attention; the text part of those that see. */
const QWEN3_5: Family = {
  ...LLAMA,
  modelType: 'qwen3_5_text',
  bias: { ...LLAMA.bias, mlp: 'never' },
  normsAddOne: true,
  gatesAttention: true,
  defaults: {
    head_dim: 256,
    partial_rotary_factor: 0.25,
    full_attention_interval: 4,
  },
  recurrence: {
    kind: 'gated delta',
    layerTypes: ['linear_attention'],
    tensors: DELTA,
    fusedOrder: 'by kind',
  },
  tensors: withLayer({ headNorms: HEAD_NORMS }),
};

/** Rows of all kinds are by head of keys. */
const QWEN3_NEXT_DELTA: GatedDeltaRules = {
  kind: 'gated delta',
  layerTypes: ['linear_attention'],
  tensors: {
    ...DELTA,
    input: ['linear_attn.in_proj_qkvz'],
    gates: ['linear_attn.in_proj_ba'],
  },
  fusedOrder: 'by group',
};

const QWEN2: Family = {
  ...LLAMA,
  modelType: 'qwen2',
  bias: { ...NO_BIAS, queryKeyValue: 'always' },
  slidingWindow: 'flag',
};

const QWEN3: Family = {
  ...LLAMA,
  modelType: 'qwen3',
  bias: { ...LLAMA.bias, mlp: 'never' },
  slidingWindow: 'flag',
  tensors: withLayer({ headNorms: HEAD_NORMS }),
};

const QWEN3_NEXT: Family = {
  ...QWEN3_5,
  modelType: 'qwen3_next',
  defaults: {
    ...QWEN3_5.defaults,
    num_experts: 512,
    num_experts_per_tok: 10,
    moe_intermediate_size: 512,
    shared_expert_intermediate_size: 512,
    norm_topk_prob: true,
  },
  experts: QWEN_EXPERTS,
  recurrence: QWEN3_NEXT_DELTA,
  tensors: withLayer({
    headNorms: HEAD_NORMS,
    experts: { ...EXPERTS, shared: SHARED_EXPERT },
  }),
};

/** Tensors of all of a layer's experts. */
const STACKED = {
  gateUp: 'mlp.experts.gate_up_proj',
  down: 'mlp.experts.down_proj',
  gateUpBias: null,
  downBias: null,
};

const QWEN3_MOE: Family = {
  ...LLAMA,
  modelType: 'qwen3_moe',
  bias: { ...LLAMA.bias, mlp: 'never' },
  slidingWindow: 'flag',
  defaults: { num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768 },
  experts: QWEN_EXPERTS,
  tensors: withLayer({ headNorms: HEAD_NORMS, experts: EXPERTS }),
};

// As llama.cpp always does.
const QWEN3_MOE_FILES = { extra: () => ({ norm_topk_prob: true }) };

export const QWENS: readonly KnownFamily[] = [
  { family: QWEN2, gguf: { architecture: 'qwen2' } },
  // Qwen2 with a module that predicts.
  { family: { ...QWEN2, modelType: 'mimo' }, gguf: null },
  // The text model inside of Qwen2-VL and Qwen2.5-VL.
  { family: QWEN2, gguf: { architecture: 'qwen2vl', imagePairs: 'by kind' } },
  { family: QWEN3, gguf: { architecture: 'qwen3' } },
  { family: QWEN3, gguf: { architecture: 'qwen3vl', imagePairs: 'in turns' } },
  {
    family: {
      ...LLAMA,
      modelType: 'qwen2_moe',
      bias: { ...NO_BIAS, queryKeyValue: 'always' },
      slidingWindow: 'flag',
      defaults: {
        num_experts: 60,
        num_experts_per_tok: 4,
        moe_intermediate_size: 1408,
        shared_expert_intermediate_size: 5632,
      },
      experts: QWEN_EXPERTS,
      tensors: withLayer({
        experts: { ...EXPERTS, shared: SHARED_EXPERT },
      }),
    },
    gguf: { architecture: 'qwen2moe' },
  },
  { family: QWEN3_MOE, gguf: { ...QWEN3_MOE_FILES, architecture: 'qwen3moe' } },
  {
    // The text model inside of Qwen3-VL, as it is published.
    family: {
      ...QWEN3_MOE,
      modelType: 'qwen3_vl_moe_text',
      defaults: { num_experts: 60, num_experts_per_tok: 4, moe_intermediate_size: 1408 },
      experts: {
        ...QWEN_EXPERTS,
        normalizesShares: 'always',
        // Published in columns; Transformers 5 saves rows.
        stacked: { ...STACKED, order: 'either, gates first' },
      },
    },
    gguf: null,
  },
  {
    // And as llama.cpp's converter writes it.
    family: QWEN3_MOE,
    gguf: { ...QWEN3_MOE_FILES, architecture: 'qwen3vlmoe', imagePairs: 'in turns' },
  },
  {
    family: QWEN3_5,
    gguf: { architecture: 'qwen35', mlpNorm: 'post_attention_norm', tilesValueHeads: true },
  },
  {
    family: {
      ...QWEN3_5,
      modelType: 'qwen3_5_moe_text',
      defaults: {
        ...QWEN3_5.defaults,
        num_experts: 256,
        num_experts_per_tok: 8,
        moe_intermediate_size: 512,
        shared_expert_intermediate_size: 512,
      },
      experts: {
        ...QWEN_EXPERTS,
        normalizesShares: 'always',
        stacked: { ...STACKED, order: 'rows, gates first' },
      },
      tensors: withLayer({
        headNorms: HEAD_NORMS,
        experts: { ...EXPERTS, shared: SHARED_EXPERT },
      }),
    },
    gguf: { architecture: 'qwen35moe', mlpNorm: 'post_attention_norm', tilesValueHeads: true },
  },
  {
    // Files of the first converter, which left its tensors as they are.
    family: QWEN3_NEXT,
    gguf: {
      architecture: 'qwen3next',
      ifFileHas: 'joined states',
      mlpNorm: 'post_attention_norm',
    },
  },
  {
    family: QWEN3_NEXT,
    gguf: {
      architecture: 'qwen3next',
      mlpNorm: 'post_attention_norm',
      form: {
        recurrence: {
          ...QWEN3_NEXT_DELTA,
          tensors: { ...QWEN3_NEXT_DELTA.tensors, input: DELTA.input },
        },
      },
    },
  },
];
