import { describe, expect, test } from 'vitest';

import { parseDecoderConfig } from '../../src/model/config.ts';
import { ModelError } from '../../src/model/errors.ts';

const LLAMA = {
  model_type: 'llama',
  vocab_size: 1000,
  hidden_size: 128,
  intermediate_size: 352,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  max_position_embeddings: 2048,
};

const parse = (changes: object = {}) => parseDecoderConfig({ ...LLAMA, ...changes }, 'config.json');

describe('defaults', () => {
  test('what an older Llama leaves out', () => {
    expect(parse()).toMatchObject({
      numKvHeads: 4,
      headDim: 32,
      rmsNormEps: 1e-6,
      ropeTheta: 10_000,
      ropeScaling: { type: 'default' },
      tieWordEmbeddings: false,
      queryKeyValueBias: false,
      attentionOutputBias: false,
      mlpBias: false,
      bosTokenId: null,
      eosTokenIds: [],
    });
  });

  test('null stands for a missing value', () => {
    const nulls = { num_key_value_heads: null, head_dim: null, rope_scaling: null };
    expect(parse(nulls)).toEqual(parse());
  });

  test('explicit values win', () => {
    const config = parse({
      num_key_value_heads: 2,
      head_dim: 64,
      rope_theta: 5e5,
      rms_norm_eps: 1e-5,
      tie_word_embeddings: true,
      bos_token_id: 1,
      eos_token_id: [2, 7],
    });
    expect(config).toMatchObject({
      numKvHeads: 2,
      headDim: 64,
      ropeTheta: 5e5,
      rmsNormEps: 1e-5,
      tieWordEmbeddings: true,
      bosTokenId: 1,
      eosTokenIds: [2, 7],
    });
  });

  test('a single end token', () => {
    expect(parse({ eos_token_id: 2 }).eosTokenIds).toEqual([2]);
  });
});

describe('biases', () => {
  test('Llama has them where its flags say so', () => {
    expect(parse({ attention_bias: true })).toMatchObject({
      queryKeyValueBias: true,
      attentionOutputBias: true,
      mlpBias: false,
    });
    expect(parse({ mlp_bias: true })).toMatchObject({ queryKeyValueBias: false, mlpBias: true });
  });

  test('Qwen2 has them on query, key and value always', () => {
    expect(parse({ model_type: 'qwen2' })).toMatchObject({
      queryKeyValueBias: true,
      attentionOutputBias: false,
      mlpBias: false,
    });
  });

  test('Mistral has none', () => {
    expect(parse({ model_type: 'mistral', attention_bias: true })).toMatchObject({
      queryKeyValueBias: false,
    });
  });
});

describe('rotary embedding', () => {
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 512,
  };
  const parsedLlama3 = {
    type: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositionEmbeddings: 512,
  };

  test.each([
    ['rope_scaling', { rope_scaling: { rope_type: 'llama3', ...llama3 }, rope_theta: 5e5 }],
    ['rope_parameters', { rope_parameters: { rope_type: 'llama3', ...llama3, rope_theta: 5e5 } }],
  ])('Llama 3 scaling from %s', (_, changes) => {
    expect(parse(changes)).toMatchObject({ ropeTheta: 5e5, ropeScaling: parsedLlama3 });
  });

  test('linear scaling, by the older name of its type', () => {
    expect(parse({ rope_scaling: { type: 'linear', factor: 2 } }).ropeScaling).toEqual({
      type: 'linear',
      factor: 2,
    });
  });

  test('an explicit default', () => {
    const { ropeScaling, ropeTheta } = parse({
      rope_parameters: { rope_type: 'default', rope_theta: 123 },
    });
    expect({ ropeScaling, ropeTheta }).toEqual({
      ropeScaling: { type: 'default' },
      ropeTheta: 123,
    });
  });
});

describe('sliding windows by layer', () => {
  const layers = 'full_attention sliding_attention full_attention'.split(' ');
  test.each([
    [{ model_type: 'mistral', sliding_window: null }, [null, null, null]],
    [{ model_type: 'mistral', sliding_window: 2048 }, [null, null, null]],
    [{ model_type: 'mistral', sliding_window: 512 }, [512, 512, 512]],
    [{ model_type: 'phi3', sliding_window: 2047 }, [2047, 2047, 2047]],
    [{ model_type: 'qwen2', sliding_window: 512, use_sliding_window: false }, [null, null, null]],
    [
      { model_type: 'qwen2', sliding_window: 512, use_sliding_window: true, max_window_layers: 1 },
      [null, 512, 512],
    ],
    [{ model_type: 'qwen3', sliding_window: 512, layer_types: layers }, [null, null, null]],
    [
      { model_type: 'qwen3', sliding_window: 512, use_sliding_window: true, layer_types: layers },
      [null, 512, null],
    ],
    [{ model_type: 'gemma3_text', sliding_window: 512, layer_types: layers }, [null, 512, null]],
    [
      { model_type: 'gemma3_text', sliding_window: 512, sliding_window_pattern: 3 },
      [512, 512, null],
    ],
  ])('%o', (changes, windows) => {
    expect(parse(changes).slidingWindows).toEqual(windows);
  });
});

describe('Gemma 3', () => {
  test('what it leaves out', () => {
    expect(parse({ model_type: 'gemma3_text' })).toMatchObject({
      headDim: 256,
      activation: 'gelu_tanh',
      ropeTheta: 1_000_000,
      localRopeTheta: 10_000,
      attentionScale: 1 / 16,
      tieWordEmbeddings: true,
    });
  });

  test('rotary embeddings by kind of layer', () => {
    const config = parse({
      model_type: 'gemma3_text',
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 123 },
        sliding_attention: { rope_type: 'default', rope_theta: 45 },
      },
    });
    expect(config).toMatchObject({
      ropeTheta: 123,
      ropeScaling: { type: 'linear', factor: 8 },
      localRopeTheta: 45,
    });
  });
});

test.each([
  [
    { model_type: 'mamba' },
    'model type "mamba" is not supported ' +
      '(supported: llama, mistral, qwen2, qwen3, phi3, gemma3_text)',
  ],
  [{ model_type: undefined }, 'config.json has no "model_type"'],
  [{ hidden_size: undefined }, 'not a valid model configuration: hidden_size: '],
  [{ num_hidden_layers: -1 }, 'not a valid model configuration: num_hidden_layers: '],
  [
    { hidden_act: 'gelu' },
    'hidden_act "gelu" is not supported (supported: silu, gelu_pytorch_tanh)',
  ],
  [{ rope_scaling: { rope_type: 'yarn', factor: 4 } }, 'rope scaling "yarn" is not supported'],
  [{ rope_scaling: { rope_type: 'linear' } }, 'rope scaling "linear" needs "factor"'],
  [
    {
      rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 4 },
    },
    'high_freq_factor must be greater than low_freq_factor',
  ],
  [{ num_key_value_heads: 3 }, 'num_attention_heads 4 is not a multiple of num_key_value_heads 3'],
  [{ hidden_size: 130 }, 'hidden_size is not a multiple of num_attention_heads'],
  [{ head_dim: 20 }, 'head_dim 20 is not supported'],
  [{ attn_logit_softcapping: 50 }, 'attn_logit_softcapping 50 is not supported'],
  [{ use_bidirectional_attention: true }, 'use_bidirectional_attention is not supported'],
  [{ partial_rotary_factor: 0.5 }, 'partial_rotary_factor 0.5 is not supported'],
  [{ quantization_config: { quant_method: 'awq' } }, 'quantized already is not supported'],
])('refuses %o', (changes, message) => {
  expect(() => parse(changes)).toThrow(ModelError);
  expect(() => parse(changes)).toThrow(message);
  expect(() => parse(changes)).toThrow('config.json');
});
