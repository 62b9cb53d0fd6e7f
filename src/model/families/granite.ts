import type { Family, KnownFamily } from './family.ts';
import type { SelectiveScanNames } from './recurrence.ts';
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

/** The expert that all tokens share; the MLP of models without others. */
const SHARED_MLP = {
  gateUp: ['shared_mlp.input_linear'],
  down: 'shared_mlp.output_linear',
  share: null,
} as const;

/** The same in a GGUF file. */
const SHARED_IN_PARTS = ['shared_mlp.gate', 'shared_mlp.up'];

const SHARED_NAMES = {
  shared_expert_intermediate_size: 'shared_intermediate_size',
  // Elsewhere it is that of all MLPs.
  shared_intermediate_size: 'intermediate_size',
};

const WITH_SHARED_EXPERT = withLayer({ experts: { ...GRANITE_EXPERTS, shared: SHARED_MLP } });

/** Bamba's and Falcon-H1's too. */
export const MAMBA_TENSORS: SelectiveScanNames = {
  input: 'mamba.in_proj',
  convolution: 'mamba.conv1d',
  decay: 'mamba.A_log',
  stepBias: 'mamba.dt_bias',
  skip: 'mamba.D',
  norm: 'mamba.norm',
  output: 'mamba.out_proj',
};

const HYBRID: Family = {
  ...GRANITE,
  modelType: 'granitemoehybrid',
  bias: { ...LLAMA.bias, mlp: 'never' },
  defaults: { ...GRANITE.defaults, num_local_experts: 8, position_embedding_type: null },
  recurrence: {
    kind: 'selective scan',
    // The second since Transformers 5.
    layerTypes: ['mamba', 'linear_attention'],
    tensors: MAMBA_TENSORS,
  },
};

const GRANITE_HYBRID: Family = {
  ...HYBRID,
  variant: { num_local_experts: 0 },
  tensors: withLayer({ gateUp: SHARED_MLP.gateUp, down: SHARED_MLP.down }),
};

const GRANITE_HYBRID_MOE: Family = {
  ...HYBRID,
  defaults: { ...HYBRID.defaults, num_experts_per_tok: 2 },
  names: SHARED_NAMES,
  experts: GRANITE_MOE.experts,
  tensors: WITH_SHARED_EXPERT,
};

const WITH_WINDOWS = {
  slidingWindow: 'pattern, whole first',
  defaults: {
    ...GRANITE.defaults,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    sliding_window: 128,
    sliding_window_pattern: 4,
  },
} as const;

const SINKS = 'self_attn.sinks';

/** Attention sinks, and windows in most layers. */
const GRANITE_SWA: Family = {
  ...GRANITE,
  ...WITH_WINDOWS,
  modelType: 'granite_swa',
  tensors: withLayer({ sinks: SINKS }),
};

const SWA_EXPERTS = {
  ...EXPERTS,
  router: 'block_sparse_moe.router',
  gate: 'block_sparse_moe.experts.*.gate_proj',
  up: 'block_sparse_moe.experts.*.up_proj',
  down: 'block_sparse_moe.experts.*.down_proj',
};

const GRANITE_MOE_SWA: Family = {
  ...GRANITE_MOE,
  ...WITH_WINDOWS,
  modelType: 'granitemoe_swa',
  names: SHARED_NAMES,
  defaults: { ...GRANITE_MOE.defaults, ...WITH_WINDOWS.defaults },
  experts: {
    normalizesShares: 'always',
    scoring: 'softmax',
    bias: false,
    stacked: {
      gateUp: 'block_sparse_moe.experts.gate_up_proj',
      down: 'block_sparse_moe.experts.down_proj',
      gateUpBias: null,
      downBias: null,
      order: 'rows, gates first',
    },
  },
  tensors: withLayer({ sinks: SINKS, experts: { ...SWA_EXPERTS, shared: SHARED_MLP } }),
};

const GRANITE_MOE_SWA_ALONE: Family = {
  ...GRANITE_MOE_SWA,
  variant: { shared_intermediate_size: 0 },
  tensors: withLayer({ sinks: SINKS, experts: SWA_EXPERTS }),
};

const SWA_FILES = { architecture: 'granite_swa', pairsRows: true } as const;

/** Gates and ups of experts are one tensor. */
const SWA_EXPERTS_OF_FILES = {
  ...SWA_EXPERTS,
  gate: null,
  up: 'block_sparse_moe.experts.*.gate_up_proj',
};

const SHARED_OF_FILES = withLayer({
  experts: { ...GRANITE_EXPERTS, shared: { ...SHARED_MLP, gateUp: SHARED_IN_PARTS } },
});

const HYBRID_FILES = { architecture: 'granitehybrid', pairsRows: true } as const;

export const GRANITES: readonly KnownFamily[] = [
  { family: GRANITE, gguf: { architecture: 'granite', pairsRows: true } },
  {
    family: GRANITE_HYBRID,
    gguf: {
      ...HYBRID_FILES,
      mlpWidth: 'expert_shared_feed_forward_length',
      extra: () => GRANITE_HYBRID.variant,
      form: {
        tensors: withLayer({
          gateUp: SHARED_IN_PARTS,
          down: SHARED_MLP.down,
        }),
      },
    },
  },
  {
    family: GRANITE_HYBRID_MOE,
    gguf: {
      ...HYBRID_FILES,
      ifFileHas: 'experts',
      form: { tensors: SHARED_OF_FILES },
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
      names: SHARED_NAMES,
      tensors: WITH_SHARED_EXPERT,
    },
    gguf: {
      architecture: 'granitemoe',
      pairsRows: true,
      ifFileHas: 'shared experts',
      form: { tensors: SHARED_OF_FILES },
    },
  },
  { family: GRANITE_SWA, gguf: SWA_FILES },
  {
    family: GRANITE_MOE_SWA_ALONE,
    gguf: {
      ...SWA_FILES,
      ifFileHas: 'unshared experts',
      extra: () => GRANITE_MOE_SWA_ALONE.variant,
      form: { tensors: withLayer({ sinks: SINKS, experts: SWA_EXPERTS_OF_FILES }) },
    },
  },
  {
    family: GRANITE_MOE_SWA,
    gguf: {
      ...SWA_FILES,
      ifFileHas: 'experts',
      form: {
        tensors: withLayer({
          sinks: SINKS,
          experts: { ...SWA_EXPERTS_OF_FILES, shared: SHARED_MLP },
        }),
      },
    },
  },
];
