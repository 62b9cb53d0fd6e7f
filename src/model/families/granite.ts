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
      recurrence: {
        kind: 'selective scan',
        // The second since Transformers 5.
        layerTypes: ['mamba', 'linear_attention'],
        tensors: {
          input: 'mamba.in_proj',
          convolution: 'mamba.conv1d',
          decay: 'mamba.A_log',
          stepBias: 'mamba.dt_bias',
          skip: 'mamba.D',
          norm: 'mamba.norm',
          output: 'mamba.out_proj',
        },
      },
      tensors: withLayer({
        gateUp: ['shared_mlp.input_linear'],
        down: 'shared_mlp.output_linear',
      }),
    },
    gguf: {
      architecture: 'granitehybrid',
      pairsRows: true,
      mlpWidth: 'expert_shared_feed_forward_length',
      form: {
        tensors: withLayer({
          gateUp: ['shared_mlp.gate', 'shared_mlp.up'],
          down: 'shared_mlp.output_linear',
        }),
      },
    },
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
