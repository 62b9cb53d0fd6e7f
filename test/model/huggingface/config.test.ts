import { describe, expect, test } from 'vitest';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { FAMILIES } from '../../../src/model/families/known-families.ts';
import { MULTIMODAL_TYPES } from '../../../src/model/huggingface/text-config.ts';
import { ModelError } from '../../../src/model/model-error.ts';

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

describe('a field of config.json', () => {
  test('has its default where an older Llama leaves it out', () => {
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

  test('that is null is as good as left out', () => {
    const nulls = { num_key_value_heads: null, head_dim: null, rope_scaling: null };
    expect(parse(nulls)).toEqual(parse());
  });

  test('goes before its default', () => {
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

  test('may be one end token in place of a list', () => {
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
  ])('is scaled as for Llama 3 by %s', (_, changes) => {
    expect(parse(changes)).toMatchObject({ ropeTheta: 5e5, ropeScaling: parsedLlama3 });
  });

  test('is scaled linearly, also by the older name of the type', () => {
    expect(parse({ rope_scaling: { type: 'linear', factor: 2 } }).ropeScaling).toEqual({
      type: 'linear',
      factor: 2,
    });
  });

  test('turns pairs by axes of images', () => {
    const pairs = parse({}).headDim / 2;
    const axes = (rope: object) => parse({ rope_scaling: { type: 'mrope', ...rope } }).mropeAxes;
    const sections = (...mrope_section: number[]) => axes({ mrope_section });
    const rest = Array.from({ length: pairs - 5 }, () => 0);
    expect(sections(pairs - 5, 2, 3)).toEqual([...rest, 1, 1, 2, 2, 2]);
    const inTurns = axes({ mrope_section: [pairs - 3, 1, 2], mrope_interleaved: true });
    expect(inTurns?.slice(0, 7)).toEqual([0, 1, 2, 0, 0, 2, 0]);
    const fewer = axes({ mrope_section: [1, 1, 1], mrope_interleaved: true });
    expect(fewer).toEqual([0, 1, 2, ...rest, 0, 0]);
    expect(parse({}).mropeAxes).toBeUndefined();
    expect(() => sections(pairs - 5, 2, 4)).toThrow(/mrope_section .* is not of the/);
    expect(() => sections(pairs)).toThrow(/mrope_section/);
    expect(() => sections(pairs + 1, -1, 0)).toThrow(/mrope_section/);
  });

  test('gets more of an image in its first layers', () => {
    const layers = (...deepstack_visual_indexes: number[]) =>
      parse({ vision_config: { deepstack_visual_indexes } }).deepLayers;
    expect([layers(), layers(3)]).toEqual([undefined, 1]);
    expect(() => layers(...Array.from({ length: 99 }, (_, at) => at))).toThrow(/99, and the model/);
  });

  test('is not scaled where the type is default', () => {
    const { ropeScaling, ropeTheta } = parse({
      rope_parameters: { rope_type: 'default', rope_theta: 123 },
    });
    expect({ ropeScaling, ropeTheta }).toEqual({
      ropeScaling: { type: 'default' },
      ropeTheta: 123,
    });
  });
});

describe('the sliding window of each layer', () => {
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
  ])('is read from %o', (changes, windows) => {
    expect(parse(changes).slidingWindows).toEqual(windows);
  });
});

describe('defaults of a family', () => {
  test.each([
    [
      { model_type: 'gemma2' },
      {
        headDim: 256,
        activation: 'gelu_tanh',
        attentionScale: 1 / 16,
        attentionSoftcap: 50,
        logitSoftcap: 30,
        embeddingScale: Math.sqrt(128),
        tieWordEmbeddings: true,
      },
    ],
    [
      { model_type: 'gemma2', attn_logit_softcapping: null, max_position_embeddings: 8192 },
      { attentionSoftcap: null, slidingWindows: [4096, null, 4096] },
    ],
    [
      { model_type: 'smollm3', num_hidden_layers: 5 },
      {
        ropeTheta: 2_000_000,
        rotatedLayers: [true, true, true, false, true],
        tieWordEmbeddings: true,
      },
    ],
    [
      {
        model_type: 'granite_swa',
        num_hidden_layers: 5,
        max_position_embeddings: 8192,
        layer_rope_theta: [0, 77, 77, 77, 0],
      },
      {
        ropeTheta: 77,
        rotatedLayers: [false, true, true, true, false],
        slidingWindows: [null, 128, 128, 128, null],
        tieWordEmbeddings: true,
      },
    ],
    [
      { model_type: 'cwm', num_hidden_layers: 5, max_position_embeddings: 65_536 },
      {
        ropeTheta: 1_000_000,
        slidingWindows: [null, 8192, 8192, 8192, null],
        queryKeyValueBias: false,
      },
    ],
    [{ model_type: 'granite' }, { attentionScale: 1, embeddingScale: 1, logitScale: 1 }],
    [
      { model_type: 'granitemoehybrid', num_local_experts: 0, shared_intermediate_size: 99 },
      { rotatedLayers: [false, false, false], intermediateSizes: [99, 99, 99], attentionScale: 1 },
    ],
    [
      {
        model_type: 'olmo3',
        num_hidden_layers: 4,
        max_position_embeddings: 8192,
        rope_scaling: { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 1024 },
      },
      {
        rmsNormEps: 1e-5,
        ropeTheta: 500_000,
        localRopeTheta: 500_000,
        slidingWindows: [4096, 4096, 4096, null],
      },
    ],
  ])('hold for what is left out: %o', (changes, expected) => {
    expect(parse(changes)).toMatchObject(expected);
  });
});

test('MLPs may have a width for each layer', () => {
  expect(parse().intermediateSizes).toEqual([352, 352, 352]);
  expect(parse({ intermediate_size: [64, 352, 8] }).intermediateSizes).toEqual([64, 352, 8]);
  expect(() => parse({ intermediate_size: [64, 352] })).toThrow(
    'config.json: intermediate_size is of 2 layers, and the model has 3',
  );
  expect(() => parse({ intermediate_size: [64, 352, 1e9] })).toThrow(
    /intermediate_size\.2: expected at most/,
  );
  const experts = { model_type: 'mixtral', num_local_experts: 4, num_experts_per_tok: 2 };
  expect(() => parse({ ...experts, intermediate_size: [64, 352, 8] })).toThrow(/experts of other/);
});

describe('what Transformers 4 wrote means what Transformers 5 writes', () => {
  const yarn = { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 512 };
  const longrope = { short_factor: Array(12).fill(1), long_factor: Array(12).fill(2) };
  const types = ['sliding_attention', 'sliding_attention', 'full_attention'];
  test.each([
    [
      { model_type: 'qwen3', rope_theta: 5e5, rope_scaling: { type: 'yarn', ...yarn } },
      { model_type: 'qwen3', rope_parameters: { ...yarn, rope_theta: 5e5 } },
    ],
    [
      {
        model_type: 'phi3',
        rope_scaling: { type: 'su', ...longrope },
        partial_rotary_factor: 0.75,
        original_max_position_embeddings: 512,
      },
      {
        model_type: 'phi3',
        original_max_position_embeddings: 512,
        rope_parameters: {
          rope_type: 'longrope',
          rope_theta: 10_000,
          partial_rotary_factor: 0.75,
          original_max_position_embeddings: 512,
          ...longrope,
        },
      },
    ],
    [
      {
        model_type: 'gemma3_text',
        rope_theta: 123,
        rope_local_base_freq: 45,
        rope_scaling: { rope_type: 'linear', factor: 8 },
        sliding_window: 512,
        sliding_window_pattern: 3,
      },
      {
        model_type: 'gemma3_text',
        rope_parameters: {
          full_attention: { rope_type: 'linear', factor: 8, rope_theta: 123 },
          sliding_attention: { rope_type: 'default', rope_theta: 45 },
        },
        sliding_window: 512,
        _sliding_window_pattern: 3,
        layer_types: types,
      },
    ],
    [
      { model_type: 'olmo3', rope_theta: 77, rope_scaling: yarn, layer_types: types },
      {
        model_type: 'olmo3',
        layer_types: types,
        rope_parameters: {
          full_attention: { ...yarn, rope_theta: 77 },
          sliding_attention: { rope_type: 'default', rope_theta: 77 },
        },
      },
    ],
    [
      {
        model_type: 'granitemoehybrid',
        num_local_experts: 0,
        position_embedding_type: 'rope',
        layer_types: ['attention', 'attention', 'attention'],
      },
      {
        model_type: 'granitemoehybrid',
        num_local_experts: 0,
        position_embedding_type: 'rope',
        layer_types: ['full_attention', 'full_attention', 'full_attention'],
      },
    ],
  ])('so does %o', (older, newer) => {
    expect(parse(older)).toEqual(parse(newer));
  });
});

describe('how far rotary frequencies reach', () => {
  const longrope = {
    rope_type: 'longrope',
    original_max_position_embeddings: 512,
    short_factor: Array(16).fill(1),
    long_factor: Array(16).fill(2),
  };
  test.each([
    [512, 1],
    [513, 2],
    [undefined, 2],
  ])(
    'LongRoPE takes its factors by the length of texts: up to %s tokens',
    (maxModelLen, factor) => {
      const json = { ...LLAMA, rope_scaling: longrope };
      const { ropeScaling } = parseDecoderConfig(json, 'config.json', maxModelLen);
      expect(ropeScaling).toMatchObject({ type: 'longrope', factors: Array(16).fill(factor) });
    },
  );

  test.each([
    [{ factor: 4, original_max_position_embeddings: 2048 }, 8192],
    [{ factor: 4, original_max_position_embeddings: 512 }, 2048],
    [{ factor: 2 }, 4096],
    [{ original_max_position_embeddings: 512 }, 2048],
    [{ factor: 4, original_max_position_embeddings: 512, llama_4_scaling_beta: 0.1 }, 512],
  ])('YaRN reaches as far as it was trained to: %o', (yarn, length) => {
    const { maxPositionEmbeddings } = parse({ rope_scaling: { rope_type: 'yarn', ...yarn } });
    expect(maxPositionEmbeddings).toBe(length);
  });
});

test('the first Gemma approximates GELU, whatever is said', () => {
  const json = { model_type: 'gemma', hidden_act: 'gelu', hidden_activation: null };
  expect(parse(json).activation).toBe('gelu_tanh');
});

test.each([
  [{}, 1, 'input_layernorm', null],
  [{ new_decoder_architecture: true, num_ln_in_parallel_attn: 1 }, 2, 'input_layernorm', null],
  [{ new_decoder_architecture: true }, 2, 'ln_attn', 'ln_mlp'],
])('Falcon with %o has its keys and norms', (fields, keys, attentionNorm, mlpNorm) => {
  const { numKvHeads, family } = parse({ model_type: 'falcon', num_kv_heads: 2, ...fields });
  expect(numKvHeads).toBe(keys);
  expect(family.tensors.layer).toMatchObject({ attentionNorm, mlpNorm });
});

test.each([
  [true, 'self_attn.q_norm'],
  [false, undefined],
])(
  'GLM 4.5 with use_qk_norm %s has norms of heads, and a first layer without experts',
  (is, name) => {
    const json = { model_type: 'glm4_moe', use_qk_norm: is, n_routed_experts: 16 };
    const { family, experts } = parse(json);
    expect(family.tensors.layer.headNorms?.query).toBe(name);
    expect(experts).toMatchObject({ count: 16, sharedSize: 1408, layers: [false, true, true] });
  },
);

test('Hunyuan stretches its base by alpha, which is called dynamic', () => {
  const rope_scaling = { type: 'dynamic', alpha: 1000, factor: 1 };
  const { ropeTheta, ropeScaling } = parse({ model_type: 'hunyuan_v1_dense', rope_scaling });
  expect(ropeTheta).toBeCloseTo(10_000 * 1000 ** (32 / 30));
  expect(ropeScaling).toEqual({ type: 'default' });
});

test.each([
  ['cohere2', 4096, [true, true, true, false]],
  ['exaone4', 8, [true, true, true, false]],
  ['exaone4', null, [true, true, true, true]],
])('%s with a window of %s has rotary embedding in layers', (type, window, rotated) => {
  const json = { model_type: type, num_hidden_layers: 4, sliding_window: window };
  expect(parse(json).rotatedLayers).toEqual(rotated);
});

describe('Gemma 3', () => {
  test('has defaults of its own', () => {
    expect(parse({ model_type: 'gemma3_text' })).toMatchObject({
      headDim: 256,
      activation: 'gelu_tanh',
      ropeTheta: 1_000_000,
      localRopeTheta: 10_000,
      attentionScale: 1 / 16,
      tieWordEmbeddings: true,
    });
  });

  test('has rotary embeddings for each kind of layer', () => {
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

describe('Gemma 3n', () => {
  const gemma3n = { model_type: 'gemma3n_text', num_hidden_layers: 15, num_kv_shared_layers: 5 };

  test('has several hidden states, and first layers with few gates', () => {
    const { gateFloors: floors = [], ...rest } = parse(gemma3n);
    expect(floors.map((floor) => floor?.toFixed(6) ?? null)).toEqual([
      ...Array.from({ length: 10 }, () => '1.644854'),
      ...Array.from({ length: 5 }, () => null),
    ]);
    expect(rest).toMatchObject({
      streams: { count: 4, isScaled: true, residualRank: 64 },
      layerInputs: { width: 256, vocabSize: 262_144 },
      attentionScale: 1,
      ropeTheta: 1_000_000,
      localRopeTheta: 10_000,
    });
    const { gateFloors } = parse({ ...gemma3n, num_hidden_layers: 10 });
    expect(gateFloors).toEqual(Array.from({ length: 10 }, () => null));
    const half = parse({ ...gemma3n, activation_sparsity_pattern: 0.5 });
    expect(half.gateFloors?.[14]).toBeCloseTo(0, 12);
    expect(parse({ ...gemma3n, activation_sparsity_pattern: 0 }).gateFloors?.[0]).toBeNull();
  });

  test.each([
    [{ altup_active_idx: 1 }, 'altup_active_idx 1 is not supported'],
    [{ altup_num_inputs: 1 }, 'altup_num_inputs'],
    [{ altup_num_inputs: 17 }, 'altup_num_inputs'],
    [{ laurel_rank: 0 }, 'laurel_rank'],
    [{ laurel_rank: 2 ** 30 }, 'laurel_rank'],
    [{ num_kv_shared_layers: 0 }, 'num_kv_shared_layers 0 is not supported'],
    [{ activation_sparsity_pattern: [0.5] }, 'activation_sparsity_pattern has 1 values for 15'],
    [{ activation_sparsity_pattern: 1 }, 'activation_sparsity_pattern'],
    [{ activation_sparsity_scale: [1] }, 'activation_sparsity_scale has 1 values for 15 layers'],
    [{ hidden_size_per_layer_input: 0 }, 'hidden_size_per_layer_input 0 is not supported'],
  ])('%o is refused', (changes, message) => {
    expect(() => parse({ ...gemma3n, ...changes })).toThrow(message);
  });
});

describe('Llama 4', () => {
  const llama4 = {
    model_type: 'llama4_text',
    num_hidden_layers: 4,
    intermediate_size: 96,
    intermediate_size_mlp: 192,
    max_position_embeddings: 262_144,
    num_key_value_heads: 2,
  };
  const chunked = 'chunked_attention';
  const full = 'full_attention';

  test('has experts in all layers, one for a token and one that all share', () => {
    const { family, experts, rotatedLayers, intermediateSizes } = parse(llama4);
    expect(experts).toMatchObject({
      count: 16,
      perToken: 1,
      intermediateSize: 96,
      sharedSize: 96,
      normalizesShares: false,
      scoring: 'sigmoid',
      layers: [true, true, true, true],
    });
    expect(intermediateSizes).toEqual([192, 192, 192, 192]);
    expect(rotatedLayers).toEqual([true, true, true, false]);
    expect(family.normalizesTurnedHeads).toBe(true);
  });

  test.each([
    [{ interleave_moe_layer_step: 2 }, [false, true, false, true]],
    [{ interleave_moe_layer_step: 2, moe_layers: [0] }, [true, false, false, false]],
    [{ interleave_moe_layer_step: 0 }, undefined],
    [{ moe_layers: [], num_local_experts: 0 }, undefined],
  ])('with %o has experts in layers', (fields, layers) => {
    expect(parse({ ...llama4, ...fields }).experts?.layers).toEqual(layers);
  });

  test('without use_qk_norm has no norms of heads', () => {
    const { family } = parse({ ...llama4, use_qk_norm: false });
    expect(family.normalizesTurnedHeads).toBeUndefined();
  });

  test.each([
    // Queries of the last position of the first chunk are scaled.
    [{}, 8191],
    // As it was published.
    [{ attn_temperature_tuning: 4, no_rope_layers: [] }, 8191],
    [{ attn_temperature_tuning: false }, 8192],
    [{ floor_scale: 100 }, 99],
    [{ attention_chunk_size: 64 }, 64],
    [{ attention_chunk_size: null }, 8191],
    [{ layer_types: [full, full, full, full] }, 8191],
    [{ layer_types: [full, chunked, full, full], floor_scale: 1e6 }, 8192],
    [{ no_rope_layers: [1, 1, 1, 1] }, 8192],
    [{ no_rope_layers: [1, 1, 1, 1], layer_types: [full, full, full, full] }, 262_144],
    [{ no_rope_layers: [0, 0, 0, 0], attn_temperature_tuning: false }, 262_144],
    [{ max_position_embeddings: 100 }, 100],
  ])('with %o is served up to where its attention changes: %i', (fields, positions) => {
    expect(parse({ ...llama4, ...fields }).maxPositionEmbeddings).toBe(positions);
  });
});

describe('Gemma 4', () => {
  const layers = ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'];
  const gemma4 = { model_type: 'gemma4_text', num_hidden_layers: 4, layer_types: layers };

  test('has other heads in layers without a window, said in either of two ways', () => {
    const heads = {
      headDim: 256,
      wholeHeads: { numKvHeads: 1, headDim: 512 },
      valuesAreKeys: true,
    };
    const stated = { num_key_value_heads: 4, num_attention_heads: 8, attention_k_eq_v: true };
    const published = { ...gemma4, ...stated, num_global_key_value_heads: 1 };
    const saved = { head_dim: 512, num_key_value_heads: 1 };
    expect(parse(published)).toMatchObject(heads);
    expect(parse({ ...gemma4, ...stated, per_layer_config: { 1: saved, 3: saved } })).toMatchObject(
      heads,
    );
    // Those with values of their own have as many in all layers.
    expect(parse({ ...published, attention_k_eq_v: false })).toMatchObject({
      wholeHeads: { numKvHeads: 4, headDim: 512 },
      valuesAreKeys: undefined,
    });
  });

  test('has last layers that read the keys of the last one before of their kind', () => {
    const shared = { ...gemma4, num_kv_shared_layers: 2, use_double_wide_mlp: true };
    expect(parse({ ...shared, intermediate_size: 24, vocab_size: 64 })).toMatchObject({
      keyLayers: [0, 1, 0, 1],
      intermediateSizes: [24, 24, 48, 48],
      layerInputs: { width: 256, vocabSize: 64 },
    });
  });

  test.each([
    [
      { num_kv_shared_layers: 3 },
      'num_kv_shared_layers 3 leaves no layer whose keys layer 1 could read',
    ],
    [{ num_kv_shared_layers: 4 }, 'leaves no layer whose keys layer 0 could read'],
    [{ num_kv_shared_layers: 40 }, 'leaves no layer whose keys layer 0 could read'],
    [{ layer_types: layers.toReversed() }, 'a last layer with a sliding window is not supported'],
    [
      { per_layer_config: { 1: { head_dim: 64 }, 3: { head_dim: 128 } } },
      'per_layer_config of layer 3 is not supported',
    ],
    [{ per_layer_config: { 0: { head_dim: 64 } } }, 'per_layer_config of layer 0 is not supported'],
    [{ global_head_dim: 40 }, 'head_dim 40 is not supported'],
    [
      {
        num_attention_heads: 4,
        num_key_value_heads: 2,
        per_layer_config: { 1: { num_key_value_heads: 3 }, 3: { num_key_value_heads: 3 } },
      },
      'num_attention_heads 4 is not a multiple of num_key_value_heads 3',
    ],
    [{ use_bidirectional_attention: 'all' }, 'use_bidirectional_attention is not supported'],
  ])('%o is refused', (changes, message) => {
    expect(() => parse({ ...gemma4, ...changes })).toThrow(message);
  });
});

test.each([
  [
    { model_type: 'mamba' },
    `model type "mamba" is not supported (supported: ${[...new Set(FAMILIES.map((family) => family.modelType)), ...MULTIMODAL_TYPES].join(', ')})`,
  ],
  [{ model_type: undefined }, 'config.json has no "model_type"'],
  [{ hidden_size: undefined }, 'not a valid model configuration: hidden_size: '],
  [{ num_hidden_layers: -1 }, 'not a valid model configuration: num_hidden_layers: '],
  [
    { hidden_act: 'selu' },
    'hidden_act "selu" is not supported (supported: silu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu, relu2)',
  ],
  [
    { rope_scaling: { rope_type: 'ntk', factor: 4 } },
    'rope scaling "ntk" is not supported (supported: default, linear, dynamic, llama3, yarn, longrope, proportional)',
  ],
  [{ rope_scaling: { rope_type: 'longrope' } }, 'rope scaling "longrope" needs "short_factor"'],
  [
    { rope_scaling: { rope_type: 'longrope', short_factor: [1, 2] } },
    'short_factor has 2 values, expected 16',
  ],
  [
    {
      rope_parameters: {
        full_attention: {},
        sliding_attention: { rope_type: 'linear', factor: 2 },
      },
    },
    'rope scaling "linear" of sliding_attention layers is not supported',
  ],
  [{ rope_scaling: { rope_type: 'linear' } }, 'rope scaling "linear" needs "factor"'],
  [
    {
      rope_scaling: { rope_type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 3 },
    },
    'high_freq_factor must not be less than low_freq_factor',
  ],
  [{ num_key_value_heads: 3 }, 'num_attention_heads 4 is not a multiple of num_key_value_heads 3'],
  [{ hidden_size: 130 }, 'hidden_size is not a multiple of num_attention_heads'],
  [{ head_dim: 20 }, 'head_dim 20 is not supported'],
  [
    { model_type: 'cohere2', use_qk_norm: true },
    'use_qk_norm, norms of queries and keys is not supported',
  ],
  [{ model_type: 'glm4_moe', n_group: 7 }, '128 experts in n_group 7 are not supported'],
  [{ model_type: 'glm4_moe', n_group: 128 }, 'groups of equal sizes, of at least 2'],
  [
    { model_type: 'glm4_moe', n_group: 64, topk_group: 3 },
    'topk_group 3 of 64 groups of 2 experts is not supported (supported: enough for 8 of a token)',
  ],
  [
    { model_type: 'glm4_moe', n_group: 8, topk_group: 9 },
    'topk_group 9 of 8 groups of 16 experts is not supported',
  ],
  [
    { model_type: 'deepseek_v2', topk_method: 'noaux_tc' },
    'topk_method "noaux_tc" is not supported (supported: greedy, group_limited_greedy)',
  ],
  [{ model_type: 'deepseek_v3', topk_method: 'greedy' }, 'topk_method "greedy" is not supported'],
  [
    { model_type: 'deepseek_v3', scoring_func: 'softmax' },
    'scoring_func "softmax" is not supported (supported: sigmoid)',
  ],
  [{ model_type: 'deepseek_v3', moe_layer_freq: 2 }, 'moe_layer_freq is not supported'],
  [
    { model_type: 'deepseek_v2', norm_topk_prob: true },
    'norm_topk_prob of deepseek_v2 is not supported',
  ],
  [{ model_type: 'deepseek_v3', kv_lora_rank: null }, 'needs kv_lora_rank, qk_rope_head_dim'],
  [
    { model_type: 'deepseek_v3', v_head_dim: 193 },
    'values of 193 dimensions for keys of 192 are not supported',
  ],
  [
    { model_type: 'kimi_linear', moe_router_activation_func: 'softmax' },
    'scoring_func "softmax" is not supported (supported: sigmoid)',
  ],
  [{ model_type: 'deepseek_v3', qk_rope_head_dim: 63 }, 'qk_rope_head_dim 63 is not an even'],
  [
    { model_type: 'deepseek_v3', q_lora_rank: null, attention_bias: true },
    'attention_bias without q_lora_rank is not supported',
  ],
  [
    { model_type: 'ernie4_5_moe', moe_layer_end_index: 1 },
    'moe_layer_end_index 1 is not supported (supported: experts up to the last layer)',
  ],
  [{ model_type: 'ernie4_5_moe', use_bias: true }, 'experts with mlp_bias are not supported'],
  [{ hidden_act: 'xielu' }, 'hidden_act "xielu" is not supported (supported: silu, '],
  [
    { model_type: 'apertus', hidden_act: 'silu' },
    'hidden_act "silu" is not supported (supported: xielu)',
  ],
  [{ model_type: 'falcon', alibi: true }, 'alibi is not supported'],
  [{ model_type: 'falcon', multi_query: false }, 'Falcon without multi_query or parallel_attn'],
  [{ model_type: 'falcon', parallel_attn: false }, 'Falcon without multi_query or parallel_attn'],
  [{ model_type: 'opt', do_layer_norm_before: false }, 'do_layer_norm_before or word_embed'],
  [{ model_type: 'opt', word_embed_proj_dim: 64 }, 'do_layer_norm_before or word_embed_proj_dim'],
  [{ model_type: 'phi', qk_layernorm: true }, 'use_qk_norm, norms of queries'],
  [
    { model_type: 'exaone4', sliding_window_pattern: 'LLLG' },
    'sliding_window_pattern "LLLG" is not supported (supported: numbers, layer_types)',
  ],
  [{ use_bidirectional_attention: true }, 'use_bidirectional_attention is not supported'],
  [
    { partial_rotary_factor: 0.3 },
    'partial_rotary_factor 0.3 turns 9 of 32 dimensions (supported: even numbers of them)',
  ],
  [{ partial_rotary_factor: 1.5 }, 'not a valid model configuration: partial_rotary_factor: '],
  [
    { model_type: 'minicpm', num_local_experts: 62 },
    'a mixture of 62 experts is not supported (supported: dense models)',
  ],
  [{ model_type: 'minicpm', sparse_config: {} }, 'sparse_config is not supported'],
  [
    { model_type: 'minimax_m2', head_dim: 32, rotary_dim: 48, num_local_experts: 8 },
    'partial_rotary_factor 1.5 turns 48 of 32 dimensions',
  ],
  [
    { model_type: 'granitemoehybrid', num_local_experts: 0, layer_types: ['rwkv', 'attention'] },
    'layer type "rwkv" is not supported (supported: full_attention, sliding_attention, attention, mamba',
  ],
  [
    { model_type: 'mixtral', num_local_experts: 4, num_experts_per_tok: 5 },
    '5 experts for a token are more than all 4',
  ],
  [
    { model_type: 'phimoe', num_local_experts: 4, num_experts_per_tok: 3 },
    'phimoe picks 2 experts for a token, not 3',
  ],
  [{ model_type: 'phimoe', router_jitter_noise: -1 }, 'router_jitter_noise: expected at least 0'],
  [{ model_type: 'mixtral', num_local_experts: 5000 }, 'num_local_experts: expected at most 4096'],
  [
    { model_type: 'granitemoe', shared_expert_intermediate_size: 64 },
    'an expert that all tokens share is not supported in granitemoe',
  ],
  [
    { model_type: 'qwen2_moe', shared_expert_intermediate_size: 0 },
    'qwen2_moe without an expert that all tokens share is not supported',
  ],
  [
    { model_type: 'lfm3', attention_bias: true },
    'attention_bias of attention with gates is not supported (supported: false)',
  ],
  [{ model_type: 'lfm3', use_attention_gate: false }, 'LFM3 without use_attention_gate or'],
  [{ model_type: 'lfm3', use_sandwich_norm: false }, 'LFM3 without use_attention_gate or'],
  [
    { model_type: 'granite_swa', layer_rope_theta: [0, 1e4, 5e5] },
    'layer_rope_theta 10000 and 500000 is not supported (supported: one, and 0)',
  ],
  [
    { model_type: 'granite_swa', layer_rope_theta: [0, 1e4] },
    'layer_rope_theta has 2 values for 3 layers',
  ],
  [{ model_type: 'granite_swa', layer_rope_theta: [0, -1, 1] }, 'configuration: layer_rope_theta'],
  [{ model_type: 'granitemoe_swa', num_local_experts: 0 }, '2 experts for a token are more than'],
  [
    { model_type: 'exaone_moe', num_shared_experts: 0 },
    'exaone_moe without an expert that all tokens share is not supported',
  ],
  [
    { model_type: 'exaone_moe', sliding_window_pattern: 'LLLG' },
    'sliding_window_pattern "LLLG" is not supported',
  ],
  [
    { model_type: 'dots1', n_routed_experts: 4, num_experts_per_tok: 2 },
    'dots1 without an expert that all tokens share is not supported',
  ],
  [
    {
      model_type: 'dots1',
      n_routed_experts: 4,
      n_shared_experts: 1,
      num_experts_per_tok: 2,
      scoring_func: 'softmax',
    },
    'scoring_func "softmax" is not supported (supported: sigmoid)',
  ],
  [
    { model_type: 'afmoe', attention_bias: true },
    'attention_bias of attention with gates is not supported (supported: false)',
  ],
  [
    { model_type: 'afmoe', score_func: 'softmax' },
    'scoring_func "softmax" is not supported (supported: sigmoid)',
  ],
  [
    { model_type: 'afmoe', num_shared_experts: 0 },
    'afmoe without an expert that all tokens share is not supported',
  ],
  [{ model_type: 'olmoe', clip_qkv: 8 }, 'clip_qkv 8 is not supported'],
  [
    { model_type: 'llama4_text', no_rope_layer_interval: 2, floor_scale: 1 },
    'floor_scale 1, which scales all queries, is not supported (supported: 2 and more)',
  ],
  [{ model_type: 'llama4_text', floor_scale: 0 }, 'configuration: floor_scale: '],
  [{ model_type: 'llama4_text', attention_chunk_size: -1 }, 'configuration: attention_chunk_size'],
  [{ model_type: 'llama4_text', moe_layers: ['all'] }, 'configuration: moe_layers'],
  [{ model_type: 'llama4_text', interleave_moe_layer_step: -1 }, 'decoder_sparse_step'],
  [{ model_type: 'llama4_text', num_experts_per_tok: 17 }, '17 experts for a token are more than'],
  [
    { model_type: 'llama4_text', layer_types: ['sparse_attention'] },
    'layer type "sparse_attention" is not supported',
  ],
  [
    { layer_types: ['chunked_attention'] },
    'layer type "chunked_attention" is not supported (supported: full_attention',
  ],
  [
    {
      model_type: 'llama4_text',
      num_key_value_heads: 4,
      quantization_config: { quant_method: 'mxfp4' },
    },
    'quant_method "mxfp4" is not supported for llama4_text',
  ],
  [
    { model_type: 'mixtral', quantization_config: { quant_method: 'mxfp4' } },
    'quant_method "mxfp4" is not supported for mixtral',
  ],
  [
    { model_type: 'gpt_oss', quantization_config: { quant_method: 'gptq' } },
    'quant_method "gptq" is not supported for gpt_oss',
  ],
  [
    { model_type: 'gpt2', scale_attn_by_inverse_layer_idx: true },
    'another scale of attention is not supported',
  ],
  [{ quantization_config: { quant_method: 'hqq' } }, 'quant_method "hqq" is not supported'],
])('refuses %o', (changes, message) => {
  expect(() => parse(changes)).toThrow(ModelError);
  expect(() => parse(changes)).toThrow(message);
  expect(() => parse(changes)).toThrow('config.json');
});
