/** Ling and Ring as inclusionAI publishes them: two versions with one `model_type`. */
import { expect, test } from 'vitest';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { countParameters } from '../../../src/model/huggingface/parameter-count.ts';

const COMMON = {
  model_type: 'bailing_moe',
  hidden_size: 2048,
  norm_topk_prob: true,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 600_000,
  tie_word_embeddings: false,
  use_bias: false,
  use_qkv_bias: false,
};

const LING_LITE = {
  ...COMMON,
  architectures: ['BailingMoeForCausalLM'],
  first_k_dense_replace: 0,
  intermediate_size: 5632,
  max_position_embeddings: 16_384,
  moe_intermediate_size: 1408,
  num_experts: 64,
  num_shared_experts: 2,
  num_experts_per_tok: 6,
  num_hidden_layers: 28,
  vocab_size: 126_464,
  norm_head: true,
  norm_softmax: false,
};

const LING_MINI_2 = {
  ...COMMON,
  architectures: ['BailingMoeV2ForCausalLM'],
  num_hidden_layers: 20,
  intermediate_size: 5120,
  first_k_dense_replace: 1,
  max_position_embeddings: 32_768,
  moe_intermediate_size: 512,
  moe_shared_expert_intermediate_size: 512,
  num_experts_per_tok: 8,
  num_experts: 256,
  head_dim: 128,
  num_shared_experts: 1,
  vocab_size: 157_184,
  partial_rotary_factor: 0.5,
  router_dtype: 'fp32',
  moe_router_enable_expert_bias: true,
  routed_scaling_factor: 2.5,
  n_group: 8,
  topk_group: 4,
  use_qk_norm: true,
  score_function: 'sigmoid',
};

const parse = (config: object) => parseDecoderConfig(config, 'config.json');
const billions = (config: object) => Math.round(countParameters(parse(config)) / 1e8) / 10;

test('Ling-lite has a softmax over all experts, and a head with columns of length 1', () => {
  const { experts, normalizesHead, rotaryDim, slidingWindows } = parse({
    ...LING_LITE,
    // As Transformers writes it: its own code knows no windows.
    sliding_window: 4096,
    use_sliding_window: false,
  });
  expect(experts).toMatchObject({
    count: 64,
    perToken: 6,
    sharedSize: 2816,
    scoring: 'softmax',
    groups: undefined,
    shareFactor: 1,
  });
  expect(normalizesHead).toBe(true);
  expect(rotaryDim).toBe(128);
  expect(slidingWindows).toEqual(Array.from({ length: 28 }, () => null));
  expect(billions(LING_LITE)).toBe(16.8);
});

test('Ling-mini 2.0 has sigmoids of experts in groups, and turns half of each head', () => {
  const { experts, normalizesHead, rotaryDim, family } = parse(LING_MINI_2);
  expect(experts).toMatchObject({
    count: 256,
    perToken: 8,
    sharedSize: 512,
    scoring: 'sigmoid',
    groups: { count: 8, perToken: 4, scored: 2 },
    shareFactor: 2.5,
  });
  expect(experts?.layers.slice(0, 2)).toEqual([false, true]);
  expect(normalizesHead).toBeUndefined();
  expect(rotaryDim).toBe(64);
  expect(family.tensors.layer.headNorms).not.toBeNull();
  expect(billions(LING_MINI_2)).toBe(16.3);
});

test('Ling-1T says how many dimensions turn', () => {
  const { partial_rotary_factor: _, ...others } = LING_MINI_2;
  expect(parse({ ...others, rotary_dim: 64 }).rotaryDim).toBe(64);
});

test.each([
  [{ ...LING_LITE, tie_word_embeddings: true }, 'norm_head with tie_word_embeddings is not'],
  [{ ...LING_LITE, use_qk_norm: true }, 'use_qk_norm, norms of queries and keys is not'],
  [{ ...LING_LITE, score_function: 'linear' }, 'scoring_func "linear" is not'],
  [{ ...LING_LITE, num_shared_experts: null }, 'without an expert that all tokens share is not'],
  [{ ...LING_MINI_2, topk_group: 9 }, 'topk_group 9 of 8 groups'],
  [
    { ...LING_MINI_2, model_type: 'bailing_hybrid' },
    'model type "bailing_hybrid" is not supported',
  ],
])('%o is refused', (config, message) => {
  expect(() => parse(config)).toThrow(message);
});
