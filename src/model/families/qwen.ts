import type { KnownFamily } from './family.ts';
import { EXPERTS, HEAD_NORMS, LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const QWENS: readonly KnownFamily[] = [
  {
    family: {
      ...LLAMA,
      modelType: 'qwen2',
      bias: { ...NO_BIAS, queryKeyValue: 'always' },
      slidingWindow: 'flag',
    },
    gguf: { architecture: 'qwen2' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'qwen3',
      bias: { ...LLAMA.bias, mlp: 'never' },
      slidingWindow: 'flag',
      tensors: withLayer({ headNorms: HEAD_NORMS }),
    },
    gguf: { architecture: 'qwen3' },
  },
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
      experts: {
        normalizesShares: 'norm_topk_prob',
        scoring: 'softmax',
        bias: false,
        stacked: null,
      },
      tensors: withLayer({
        experts: {
          ...EXPERTS,
          shared: {
            gateUp: ['mlp.shared_expert.gate_proj', 'mlp.shared_expert.up_proj'],
            down: 'mlp.shared_expert.down_proj',
            share: 'mlp.shared_expert_gate',
          },
        },
      }),
    },
    gguf: { architecture: 'qwen2moe' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'qwen3_moe',
      bias: { ...LLAMA.bias, mlp: 'never' },
      slidingWindow: 'flag',
      defaults: { num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768 },
      experts: {
        normalizesShares: 'norm_topk_prob',
        scoring: 'softmax',
        bias: false,
        stacked: null,
      },
      tensors: withLayer({ headNorms: HEAD_NORMS, experts: EXPERTS }),
    },
    gguf: {
      architecture: 'qwen3moe',
      // llama.cpp always does so.
      extra: () => ({ norm_topk_prob: true }),
    },
  },
];
