import { expect, test } from 'vitest';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { buildDecoderGraph } from '../../../src/model/graph/decoder-graph.ts';
import { countParameters } from '../../../src/model/huggingface/parameter-count.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import type { WeightSource } from '../../../src/model/huggingface/weights.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Zeros, counted as they are asked for. */
class CountingWeights implements WeightSource {
  total = 0;

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const values = new Float32Array(shape.reduce((product, dim) => product * dim, 1));
    // Corrections of experts' scores are not trained.
    if (!/(expert|correction)_bias$/.test(name)) this.total += values.length;
    return values;
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

test('the 135M shape has the parameters that its makers state', () => {
  const config = parseDecoderConfig(PRESETS['smollm2-135m'], 'preset');
  expect(countParameters(config)).toBe(134_515_008);
});

const gemma3n = {
  model_type: 'gemma3n_text',
  num_hidden_layers: 3,
  layer_types: ['sliding_attention', 'full_attention', 'full_attention'],
  head_dim: 16,
  num_kv_shared_layers: 1,
  hidden_size_per_layer_input: 8,
  vocab_size_per_layer_input: 40,
  laurel_rank: 5,
  altup_num_inputs: 3,
};

/** As Gemma 4's models differ. */
const gemma4 = {
  model_type: 'gemma4_text',
  num_hidden_layers: 4,
  layer_types: ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
  head_dim: 16,
  global_head_dim: 32,
  hidden_size_per_layer_input: 0,
};

/** Layers of Kimi Delta Attention with an MLP, and of attention from latents with experts. */
const kimiLinear = {
  model_type: 'kimi_linear',
  tie_word_embeddings: false,
  linear_attn_config: { kda_layers: [1], full_attn_layers: [2], head_dim: 32, num_heads: 3 },
};

test.each([
  {},
  { tie_word_embeddings: false },
  { attention_bias: true, mlp_bias: true },
  { intermediate_size: [96, 32] },
  { model_type: 'qwen2', head_dim: 32 },
  { model_type: 'qwen3' },
  { model_type: 'phi3' },
  { model_type: 'gemma3_text' },
  { model_type: 'granitemoehybrid', num_local_experts: 0, shared_intermediate_size: 96 },
  { model_type: 'olmo2' },
  { model_type: 'mixtral', num_local_experts: 3 },
  { model_type: 'phimoe', num_local_experts: 3, attention_bias: true, lm_head_bias: true },
  { model_type: 'qwen2_moe', num_experts: 5, shared_expert_intermediate_size: 48 },
  { model_type: 'qwen3_moe', num_experts: 9, moe_intermediate_size: 32, mlp_only_layers: [1] },
  { model_type: 'gpt_oss', num_local_experts: 4, sliding_window: null },
  { ...gemma4, attention_k_eq_v: true, num_global_key_value_heads: 1 },
  { ...gemma4, hidden_size_per_layer_input: 8, num_kv_shared_layers: 2, use_double_wide_mlp: true },
  { ...gemma4, enable_moe_block: true, num_experts: 3, top_k_experts: 2, moe_intermediate_size: 8 },
  gemma3n,
  { ...gemma3n, altup_correct_scale: false },
  { model_type: 'llama4_text', num_local_experts: 3, moe_layers: [1], intermediate_size_mlp: 48 },
  { model_type: 'llama4_text', num_local_experts: 3, use_qk_norm: false },
  { model_type: 'llama4_text', moe_layers: [], tie_word_embeddings: true },
  { model_type: 'mamba2', num_heads: 4, head_dim: 32, expand: 2, n_groups: 2, use_bias: true },
  { ...kimiLinear, num_experts: 3, num_experts_per_token: 2, num_shared_experts: 2 },
  { ...kimiLinear, q_lora_rank: 24, num_experts: 8, first_k_dense_replace: 0 },
  { model_type: 'lfm3', head_dim: 32, layer_types: ['conv', 'full_attention'] },
  { model_type: 'granite_swa' },
  { model_type: 'granitemoe_swa', num_local_experts: 3, shared_intermediate_size: 48 },
  { model_type: 'granitemoe_swa', num_local_experts: 3, shared_intermediate_size: 0 },
  {
    model_type: 'exaone_moe',
    num_experts: 3,
    num_experts_per_tok: 2,
    moe_intermediate_size: 8,
    first_k_dense_replace: 1,
    num_shared_experts: 2,
  },
  {
    model_type: 'bamba',
    attn_layer_indices: [1],
    mamba_n_heads: 4,
    mamba_d_head: 'auto',
    mamba_d_state: 16,
  },
  {
    model_type: 'dots1',
    n_routed_experts: 3,
    num_experts_per_tok: 2,
    moe_intermediate_size: 8,
    n_shared_experts: 2,
    attention_bias: true,
  },
  {
    model_type: 'afmoe',
    num_experts: 3,
    num_experts_per_tok: 2,
    moe_intermediate_size: 8,
  },
  { model_type: 'cohere', use_qk_norm: true },
  { model_type: 'stablelm', qk_layernorm: true },
  { model_type: 'stablelm', qk_layernorm: true, use_parallel_residual: true },
  { model_type: 'hunyuan_v1_moe', num_experts: 3, moe_topk: [2, 2] },
  { model_type: 'cwm', head_dim: 32 },
  { model_type: 'helium', head_dim: 32, attention_bias: true },
  { model_type: 'vaultgemma' },
  { model_type: 'gpt2' },
  { model_type: 'gpt_neox' },
])('the count is what the graph takes: %o', async (changes) => {
  const config = parseDecoderConfig({ ...PRESETS.tiny, ...changes }, 'tiny');
  const weights = new CountingWeights();
  await buildDecoderGraph(config, weights, { precision: 'fp32' }).write(
    `${await temporaryDirectory()}/decoder.onnx`,
  );
  expect(countParameters(config)).toBe(weights.total);
});
