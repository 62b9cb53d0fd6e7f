import type { Family, KnownFamily } from './family.ts';
import type { DecoderSize } from './gguf-names.ts';
import { LATENT } from './latent.ts';
import { EXPERTS, LLAMA, SHARED_EXPERTS, withLayer } from './llama.ts';

const SHAPE = {
  kv_lora_rank: 512,
  q_lora_rank: 1536,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
};

/** Attention from latents, and experts that are picked after a softmax. */
const DEEPSEEK_V2: Family = {
  ...LLAMA,
  modelType: 'deepseek_v2',
  rotaryPairs: 'neighbours',
  latentAttention: LATENT,
  names: { num_experts: 'n_routed_experts' },
  defaults: {
    ...SHAPE,
    num_experts: 64,
    num_experts_per_tok: 6,
    moe_intermediate_size: 1407,
    n_shared_experts: 2,
    topk_method: 'greedy',
  },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'softmax', bias: false, stacked: null },
  tensors: withLayer({ queryKeyValue: [], experts: { ...EXPERTS, shared: SHARED_EXPERTS } }),
};

const WITH_CORRECTION = withLayer({
  queryKeyValue: [],
  experts: {
    ...EXPERTS,
    correction: 'mlp.gate.e_score_correction_bias',
    shared: SHARED_EXPERTS,
  },
});

const DEEPSEEK_V3: Family = {
  ...DEEPSEEK_V2,
  modelType: 'deepseek_v3',
  defaults: {
    ...SHAPE,
    num_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 2048,
    n_shared_experts: 1,
    first_k_dense_replace: 3,
    n_group: 8,
    topk_group: 4,
    routed_scaling_factor: 2.5,
    norm_topk_prob: true,
  },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'sigmoid', bias: false, stacked: null },
  tensors: WITH_CORRECTION,
};

/** GLM 4.7 Flash. */
const GLM4_MOE_LITE: Family = {
  ...DEEPSEEK_V3,
  modelType: 'glm4_moe_lite',
  defaults: {
    kv_lora_rank: 512,
    q_lora_rank: 768,
    qk_nope_head_dim: 192,
    qk_rope_head_dim: 64,
    v_head_dim: 256,
    rms_norm_eps: 1e-5,
    num_experts: 64,
    num_experts_per_tok: 4,
    moe_intermediate_size: 1536,
    n_shared_experts: 1,
    first_k_dense_replace: 1,
    routed_scaling_factor: 1.8,
    norm_topk_prob: true,
  },
};

/** Youtu-LLM: MLPs in all layers. */
const YOUTU: Family = {
  ...LLAMA,
  modelType: 'youtu',
  bias: { ...LLAMA.bias, mlp: 'never' },
  rotaryPairs: 'neighbours',
  latentAttention: LATENT,
  defaults: { ...SHAPE, tie_word_embeddings: true },
  tensors: withLayer({ queryKeyValue: [] }),
};

/** As published, or with dimensions that turn together half of them apart. */
function withBothPairs(family: Family, gguf: KnownFamily['gguf']): KnownFamily[] {
  const variant = { rope_interleave: false };
  return [
    { family: { ...family, variant, rotaryPairs: 'halves' }, gguf: null },
    { family, gguf },
  ];
}

/** Groups that older files do not say, by the number of experts of the models that have any. */
const GROUPS: Readonly<Record<number, object>> = {
  160: { n_group: 8, topk_group: 3 },
  256: { n_group: 8, topk_group: 4 },
};

const FILES = {
  architecture: 'deepseek2',
  logMultiplierFactor: 10,
  unstated: ({ experts }: DecoderSize) => ({ n_group: 1, ...GROUPS[experts] }),
} as const;

export const DEEPSEEKS: readonly KnownFamily[] = [
  {
    family: DEEPSEEK_V2,
    // Those that say how many groups there are, and pick of all experts, have one.
    gguf: { ...FILES, extra: () => ({ topk_method: 'group_limited_greedy' }) },
  },
  // Files of GLM 4.7 Flash are these, too.
  ...withBothPairs(DEEPSEEK_V3, { ...FILES, ifFileHas: 'correction' }),
  ...withBothPairs(GLM4_MOE_LITE, null),
  ...withBothPairs(YOUTU, { ...FILES, ifFileHas: 'no experts' }),
];
