/** Fields that only configurations of published models have, as Transformers 5.19 reads them. */
import { describe, expect, test } from 'vitest';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { ModelError } from '../../../src/model/model-error.ts';

const SHAPE = {
  model_type: 'llama',
  vocab_size: 1000,
  hidden_size: 128,
  intermediate_size: 352,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  max_position_embeddings: 8192,
};

const parse = (fields: object) => parseDecoderConfig({ ...SHAPE, ...fields }, 'config.json');

test('MiniMax M2 has no MLP beside its experts, of which it says 0', () => {
  const { intermediateSizes, experts } = parse({
    model_type: 'minimax_m2',
    num_local_experts: 16,
    num_experts_per_tok: 8,
    scoring_func: 'sigmoid',
    shared_intermediate_size: 0,
    use_qk_norm: true,
  });
  expect(intermediateSizes).toEqual([352, 352, 352]);
  expect(experts).toMatchObject({ count: 16, intermediateSize: 352, sharedSize: null });
});

test('dots.llm1 has the name of its method for that of its scores', () => {
  const fields = {
    model_type: 'dots1',
    n_routed_experts: 128,
    n_shared_experts: 2,
    num_experts_per_tok: 6,
    moe_intermediate_size: 96,
    norm_topk_prob: true,
    routed_scaling_factor: 2.5,
    sliding_window: null,
  };
  const { experts } = parse({ ...fields, scoring_func: 'noaux_tc' });
  expect(experts).toEqual(parse({ ...fields, scoring_func: 'sigmoid' }).experts);
  expect(() => parse({ ...fields, scoring_func: 'softmax' })).toThrow('scoring_func "softmax"');
});

test('Hunyuan says that it has one expert, which is an MLP', () => {
  expect(parse({ model_type: 'hunyuan_v1_dense', num_experts: 1 }).experts).toBeNull();
});

test('Hunyuan-A13B says for each layer what all have', () => {
  const layers = (value: number) => Array.from({ length: 32 }, () => value);
  const fields = {
    model_type: 'hunyuan_v1_moe',
    num_hidden_layers: 32,
    num_experts: 64,
    moe_topk: layers(8),
    moe_intermediate_size: layers(3072),
    num_shared_expert: layers(1),
    norm_topk_prob: true,
    use_qk_norm: true,
  };
  const { experts } = parse(fields);
  expect(experts).toMatchObject({
    count: 64,
    perToken: 8,
    intermediateSize: 3072,
    sharedSize: 3072,
    normalizesShares: true,
  });
  const others = { ...fields, moe_topk: [...layers(8).slice(1), 4] };
  expect(() => parse(others)).toThrow('num_experts_per_tok: expected a number');
});

test('InternVL 3 has frequencies that change beyond its positions only', () => {
  const text_config = {
    ...SHAPE,
    model_type: 'qwen2',
    rope_theta: 1_000_000,
    rope_scaling: { factor: 2, rope_type: 'dynamic', type: 'dynamic' },
  };
  expect(parse({ model_type: 'internvl', text_config })).toMatchObject({
    ropeTheta: 1_000_000,
    ropeScaling: { type: 'default' },
    maxPositionEmbeddings: 8192,
  });
});

test.each([
  ['llava_onevision', 'qwen2', { num_hidden_layers: 24, num_attention_heads: 14 }, 32_768],
  ['internvl', 'qwen2', { num_hidden_layers: 24, num_attention_heads: 14 }, 32_768],
  ['idefics3', 'llama', { num_attention_heads: 14 }, 2048],
])('%s leaves out what %s has by default', (model_type, inner, fields, positions) => {
  const text_config = { hidden_size: 896, num_key_value_heads: 2, model_type: inner, ...fields };
  expect(parseDecoderConfig({ model_type, text_config }, 'config.json')).toMatchObject({
    maxPositionEmbeddings: positions,
    numLayers: inner === 'qwen2' ? 24 : 32,
    headDim: 64,
  });
});

test.each([
  [{}, 4096],
  [{ sliding_window: null }, null],
  [{ sliding_window: 1024 }, 1024],
])('Mistral with %o has a window of %s', (fields, window) => {
  const { slidingWindows } = parse({ model_type: 'mistral', ...fields });
  expect(slidingWindows).toEqual([window, window, window]);
});

test.each([
  [
    { quant_method: 'auto-round', bits: 4, packing_format: 'auto_round:auto_gptq' },
    { method: 'gptq', groupSize: 128, isSymmetric: true, zeroOffset: 1 },
  ],
  [
    { quant_method: 'auto-round', bits: 4, packing_format: 'auto_round:auto_awq' },
    { method: 'awq', groupSize: 128 },
  ],
  [
    { quant_method: 'modelopt', quant_algo: 'FP8' },
    { method: 'fp8', block: null },
  ],
])('quantization %o is as others name it: %o', (fields, quantization) => {
  const common = { group_size: 128, sym: true, ...fields };
  expect(parse({ quantization_config: common }).quantization).toEqual(quantization);
});

test.each([
  [{ quant_method: 'auto-round', bits: 2, packing_format: 'auto_round:auto_gptq' }, 'bits "2"'],
  [{ quant_method: 'auto-round', packing_format: 'auto_round:gptqmodel' }, 'packing_format "auto'],
  [{ quant_method: 'modelopt', quant_algo: 'W4A8_AWQ' }, 'ModelOpt quant_algo "W4A8_AWQ" is not'],
])('quantization %o is refused: %s', (quantization_config, message) => {
  expect(() => parse({ quantization_config })).toThrow(ModelError);
  expect(() => parse({ quantization_config })).toThrow(message);
});

describe('quantization without a method', () => {
  test.each([{ load_in_4bit: true, load_in_8bit: false }, { load_in_8bit: true }])(
    'is of bitsandbytes: %o',
    (fields) => {
      const { quantization } = parse({ quantization_config: { llm_int8_threshold: 6, ...fields } });
      expect(quantization).toEqual({ method: 'bitsandbytes' });
    },
  );

  test.each([
    { quantization: { group_size: 64, bits: 4 } },
    {
      quantization: { group_size: 64, bits: 4, mode: 'affine' },
      quantization_config: { group_size: 64, bits: 4, mode: 'affine' },
    },
  ])('is of MLX: %o', (fields) => {
    expect(parse(fields).quantization).toEqual({ method: 'mlx', keptIn: 4 });
  });
});
