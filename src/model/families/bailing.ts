import type { Family, HeadNorms, KnownFamily, LayerTensorNames } from './family.ts';
import { EXPERTS, LLAMA, SHARED_EXPERTS, withLayer } from './llama.ts';

const withNames = (layer: Partial<LayerTensorNames>): Family['tensors'] => ({
  ...withLayer({
    queryKeyValue: ['attention.query_key_value'],
    attentionOutput: 'attention.dense',
    experts: { ...EXPERTS, shared: SHARED_EXPERTS },
    ...layer,
  }),
  embedding: 'model.word_embeddings',
});

const HEAD_NORMS: HeadNorms = {
  query: 'attention.query_layernorm',
  key: 'attention.key_layernorm',
  over: 'head',
  isAfterRope: false,
};

const NAMES = {
  attention_bias: 'use_qkv_bias',
  attention_out_bias: 'use_bias',
  n_shared_experts: 'num_shared_experts',
};

/** Ling and Ring up to 1.5. */
const FIRST: Family = {
  ...LLAMA,
  modelType: 'bailing_moe',
  bias: { ...LLAMA.bias, attentionOutput: 'attention_out_bias', mlp: 'never' },
  names: { ...NAMES, scoring_func: 'score_function' },
  // Their own code attends to all tokens, whatever configurations say.
  fixed: { sliding_window: null },
  experts: { normalizesShares: 'norm_topk_prob', scoring: 'softmax', bias: false, stacked: null },
  tensors: withNames({}),
};

/** Ling and Ring 2.0, whose configurations have the same type. */
const SECOND: Family = {
  ...FIRST,
  variant: { score_function: 'sigmoid' },
  names: NAMES,
  experts: { normalizesShares: 'always', scoring: 'sigmoid', bias: false, stacked: null },
  tensors: withNames({
    headNorms: HEAD_NORMS,
    experts: { ...EXPERTS, correction: 'mlp.gate.expert_bias', shared: SHARED_EXPERTS },
  }),
};

/** Models of inclusionAI, of which Transformers has no class. */
export const BAILINGS: readonly KnownFamily[] = [
  { family: SECOND, gguf: { architecture: 'bailingmoe2', extra: () => SECOND.variant } },
  {
    family: FIRST,
    gguf: {
      architecture: 'bailingmoe',
      pairsRows: true,
      form: {
        tensors: withNames({
          queryKeyValue: ['attention.q_proj', 'attention.k_proj', 'attention.v_proj'],
        }),
      },
    },
  },
  // As configurations of later code call it.
  { family: { ...SECOND, modelType: 'bailing_moe_v2', variant: {} }, gguf: null },
];
