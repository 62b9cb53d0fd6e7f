import type { ExpertTensorNames, Family, LayerTensorNames } from './families.ts';
import { GRANITE, HEAD_NORMS, LLAMA, LLAMA_LAYER, NO_BIAS } from './llama-family.ts';

const EXPERTS: ExpertTensorNames = {
  router: 'mlp.gate',
  gate: 'mlp.experts.*.gate_proj',
  up: 'mlp.experts.*.up_proj',
  down: 'mlp.experts.*.down_proj',
  shared: null,
};

const withLayer = (layer: Partial<LayerTensorNames>): Family['tensors'] => ({
  ...LLAMA.tensors,
  layer: { ...LLAMA_LAYER, ...layer },
});

/** Families whose layers have experts in place of an MLP, of which a router picks some for each token. */
export const MIXTURES: readonly Family[] = [
  {
    ...LLAMA,
    modelType: 'mixtral',
    bias: NO_BIAS,
    defaults: {
      rms_norm_eps: 1e-5,
      rope_theta: 1_000_000,
      num_experts: 8,
      num_experts_per_tok: 2,
    },
    experts: { normalizesShares: 'always', bias: false, stacked: null },
    tensors: withLayer({
      experts: {
        router: 'block_sparse_moe.gate',
        gate: 'block_sparse_moe.experts.*.w1',
        up: 'block_sparse_moe.experts.*.w3',
        down: 'block_sparse_moe.experts.*.w2',
        shared: null,
      },
    }),
  },
  {
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
    experts: { normalizesShares: 'norm_topk_prob', bias: false, stacked: null },
    tensors: withLayer({
      experts: {
        ...EXPERTS,
        shared: {
          gate: 'mlp.shared_expert.gate_proj',
          up: 'mlp.shared_expert.up_proj',
          down: 'mlp.shared_expert.down_proj',
          share: 'mlp.shared_expert_gate',
        },
      },
    }),
  },
  {
    ...LLAMA,
    modelType: 'qwen3_moe',
    bias: { ...LLAMA.bias, mlp: 'never' },
    slidingWindow: 'flag',
    defaults: { num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768 },
    experts: { normalizesShares: 'norm_topk_prob', bias: false, stacked: null },
    tensors: withLayer({ headNorms: HEAD_NORMS, experts: EXPERTS }),
  },
  {
    ...LLAMA,
    modelType: 'olmoe',
    bias: { ...LLAMA.bias, mlp: 'never' },
    defaults: { rms_norm_eps: 1e-5, num_experts: 64, num_experts_per_tok: 8 },
    experts: { normalizesShares: 'norm_topk_prob', bias: false, stacked: null },
    tensors: withLayer({ headNorms: { ...HEAD_NORMS, over: 'all heads' }, experts: EXPERTS }),
  },
  {
    ...GRANITE,
    modelType: 'granitemoe',
    bias: { ...LLAMA.bias, mlp: 'never' },
    defaults: { ...GRANITE.defaults, num_experts: 8, num_experts_per_tok: 2 },
    experts: {
      normalizesShares: 'always',
      bias: false,
      stacked: {
        gateUp: 'block_sparse_moe.input_linear.weight',
        down: 'block_sparse_moe.output_linear.weight',
        gateUpBias: null,
        downBias: null,
        order: 'rows, gates first',
      },
    },
    tensors: withLayer({
      experts: { ...EXPERTS, router: 'block_sparse_moe.router.layer' },
    }),
  },
  {
    ...LLAMA,
    modelType: 'gpt_oss',
    bias: { ...LLAMA.bias, mlp: 'always' },
    slidingWindow: 'pattern',
    defaults: {
      attention_bias: true,
      head_dim: 64,
      rms_norm_eps: 1e-5,
      rope_theta: 150_000,
      rope_scaling: {
        rope_type: 'yarn',
        factor: 32,
        truncate: false,
        original_max_position_embeddings: 4096,
      },
      sliding_window: 128,
      sliding_window_pattern: 2,
      num_experts: 128,
      num_experts_per_tok: 4,
      swiglu_limit: 7,
      swiglu_alpha: 1.702,
    },
    experts: {
      normalizesShares: 'always',
      bias: true,
      stacked: {
        gateUp: 'mlp.experts.gate_up_proj',
        down: 'mlp.experts.down_proj',
        gateUpBias: 'mlp.experts.gate_up_proj_bias',
        downBias: 'mlp.experts.down_proj_bias',
        order: 'columns, alternating',
      },
    },
    tensors: withLayer({
      sinks: 'self_attn.sinks',
      experts: { ...EXPERTS, router: 'mlp.router' },
    }),
  },
];
