import type { Family, KnownFamily } from './family.ts';
import { EXPERTS, LLAMA, withLayer } from './llama.ts';

const GRANITE: Family = {
  ...LLAMA,
  modelType: 'granite',
  // Not one over the root of head_dim, as elsewhere.
  defaults: { attention_multiplier: 1 },
};

const GRANITE_EXPERTS = { ...EXPERTS, router: 'block_sparse_moe.router.layer' };

const GRANITE_MOE: Family = {
  ...GRANITE,
  modelType: 'granitemoe',
  bias: { ...LLAMA.bias, mlp: 'never' },
  defaults: { ...GRANITE.defaults, num_experts: 8, num_experts_per_tok: 2 },
  experts: {
    normalizesShares: 'always',
    scoring: 'softmax',
    bias: false,
    stacked: {
      gateUp: 'block_sparse_moe.input_linear.weight',
      down: 'block_sparse_moe.output_linear.weight',
      gateUpBias: null,
      downBias: null,
      order: 'rows, gates first',
    },
  },
  tensors: withLayer({ experts: GRANITE_EXPERTS }),
};

export const GRANITES: readonly KnownFamily[] = [
  { family: GRANITE, gguf: { architecture: 'granite', pairsRows: true } },
  {
    family: {
      ...GRANITE,
      modelType: 'granitemoehybrid',
      bias: { ...LLAMA.bias, mlp: 'never' },
      defaults: { ...GRANITE.defaults, num_local_experts: 8, position_embedding_type: null },
      tensors: withLayer({
        gateUp: ['shared_mlp.input_linear'],
        down: 'shared_mlp.output_linear',
      }),
    },
    gguf: null,
  },
  {
    family: GRANITE_MOE,
    gguf: { architecture: 'granitemoe', pairsRows: true },
  },
  {
    family: {
      ...GRANITE_MOE,
      modelType: 'granitemoeshared',
      names: {
        shared_expert_intermediate_size: 'shared_intermediate_size',
        // Elsewhere it is that of all MLPs.
        shared_intermediate_size: 'intermediate_size',
      },
      tensors: withLayer({
        experts: {
          ...GRANITE_EXPERTS,
          shared: {
            gateUp: ['shared_mlp.input_linear'],
            down: 'shared_mlp.output_linear',
            share: null,
          },
        },
      }),
    },
    gguf: null,
  },
];
