import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, LLAMA_LAYER, withLayer } from './llama.ts';

const LAYER = {
  ...LLAMA_LAYER,
  headNorms: {
    ...HEAD_NORMS,
    query: 'self_attn.query_layernorm',
    key: 'self_attn.key_layernorm',
    isAfterRope: true,
  },
};

const DENSE: Family = {
  ...LLAMA,
  modelType: 'hunyuan_v1_dense',
  bias: { ...LLAMA.bias, mlp: 'never' },
  defaults: { rms_norm_eps: 1e-5 },
  tensors: withLayer(LAYER),
};

/** A13B: every layer has experts, and one that all tokens share. */
const MOE: Family = {
  ...DENSE,
  modelType: 'hunyuan_v1_moe',
  names: { num_experts_per_tok: 'moe_topk', n_shared_experts: 'num_shared_expert' },
  defaults: { ...DENSE.defaults, n_shared_experts: 1 },
  experts: { normalizesShares: 'always', scoring: 'softmax', bias: false, stacked: null },
  tensors: withLayer({
    ...LAYER,
    experts: {
      ...EXPERTS,
      router: 'mlp.gate.wg',
      shared: {
        gateUp: ['mlp.shared_mlp.gate_proj', 'mlp.shared_mlp.up_proj'],
        down: 'mlp.shared_mlp.down_proj',
        share: null,
      },
    },
  }),
};

export const HUNYUANS: readonly KnownFamily[] = [
  {
    family: DENSE,
    gguf: {
      architecture: 'hunyuan-dense',
      // Some say 1, which is none.
      extra: () => ({ num_local_experts: undefined }),
    },
  },
  { family: MOE, gguf: { architecture: 'hunyuan-moe' } },
];
