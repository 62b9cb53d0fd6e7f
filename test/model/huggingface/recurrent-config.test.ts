import { describe, expect, test } from 'vitest';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { numKvLayers } from '../../../src/model/graph/layer-kinds.ts';
import { countParameters } from '../../../src/model/huggingface/parameter-count.ts';

/** As LFM2-350M says it. */
const LFM2 = {
  model_type: 'lfm2',
  vocab_size: 65_536,
  hidden_size: 1024,
  num_hidden_layers: 16,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  max_position_embeddings: 128_000,
  block_ff_dim: 6656,
  block_ffn_dim_multiplier: 1,
  block_multiple_of: 256,
  norm_eps: 1e-5,
  conv_L_cache: 3,
  full_attn_idxs: [2, 5, 8, 10, 12, 14],
  rope_theta: 1_000_000,
};

const parse = (changes: object = {}) => parseDecoderConfig({ ...LFM2, ...changes }, 'config.json');

describe('LFM2', () => {
  test('has convolutions where it does not attend', () => {
    const { recurrence, intermediateSizes, tieWordEmbeddings } = parse();
    expect(recurrence).toMatchObject({ kind: 'short convolution', kernel: 3, bias: false });
    const attending = [...(recurrence?.layers.entries() ?? [])].filter(([, of]) => !of);
    expect(attending.map(([layer]) => layer)).toEqual(LFM2.full_attn_idxs);
    expect(new Set(intermediateSizes)).toEqual(new Set([4608]));
    expect(tieWordEmbeddings).toBe(true);
  });

  test('of 350M parameters has so many', () => {
    expect(countParameters(parse())).toBe(354_483_968);
  });

  test('says its layers by type, too', () => {
    const types = Array.from({ length: 16 }, (_, layer) =>
      LFM2.full_attn_idxs.includes(layer) ? 'full_attention' : 'conv',
    );
    expect(parse({ full_attn_idxs: null, layer_types: types })).toEqual(parse());
  });

  test.each([
    ['at once', { block_auto_adjust_ff_dim: false }, 6656],
    ['up to a multiple', { block_multiple_of: 1000 }, 5000],
    ['with a factor', { block_ffn_dim_multiplier: 0.5 }, 2304],
    ['without a multiple', { block_ffn_dim_multiplier: null }, 4437],
  ])('has MLPs as wide as is said, %s', (_, changes, width) => {
    expect(parse(changes).intermediateSizes[0]).toBe(width);
  });

  test.each([
    [{ conv_L_cache: 9 }, 'a convolution of 9 tokens is not supported (supported: 2 to 8)'],
    [
      { hidden_size: 1032, head_dim: 64 },
      'a convolution of 1032 channels is not supported (supported: multiples of 16 up to 65536)',
    ],
    [{ conv_L_cache: 1 }, 'a convolution of 1 tokens is not supported (supported: 2 to 8)'],
    [
      { block_multiple_of: 2 ** 20, block_ff_dim: 2 ** 20 - 1, block_ffn_dim_multiplier: 2 },
      'MLPs of 2097152 channels are not supported',
    ],
    [
      { layer_types: ['mamba'] },
      'layer type "mamba" is not supported (supported: full_attention, sliding_attention, attention, conv)',
    ],
  ])('is refused with %o', (changes, message) => {
    expect(() => parse(changes)).toThrow(message);
  });
});

/** As Qwen3.5-0.8B says it, image part left out. */
const QWEN3_5 = {
  model_type: 'qwen3_5',
  tie_word_embeddings: true,
  text_config: {
    model_type: 'qwen3_5_text',
    vocab_size: 248_320,
    hidden_size: 1024,
    intermediate_size: 3584,
    num_hidden_layers: 24,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 256,
    max_position_embeddings: 262_144,
    linear_num_key_heads: 16,
    linear_num_value_heads: 16,
    rope_parameters: {
      rope_type: 'default',
      rope_theta: 1e7,
      mrope_section: [11, 11, 10],
      mrope_interleaved: true,
      partial_rotary_factor: 0.25,
    },
  },
};

describe('linear attention', () => {
  const parseText = (changes: object = {}) =>
    parseDecoderConfig(
      { ...QWEN3_5, text_config: { ...QWEN3_5.text_config, ...changes } },
      'config.json',
    );

  test('is in three layers of four', () => {
    const { recurrence, rotaryDim, family } = parseText();
    expect(recurrence).toMatchObject({
      kind: 'gated delta',
      kernel: 4,
      channels: 6144,
      matrixSize: 16 * 128 * 128,
    });
    expect(recurrence?.layers.slice(0, 8)).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(rotaryDim).toBe(64);
    expect(family.modelType).toBe('qwen3_5_text');
  });

  test.each([
    [
      { linear_key_head_dim: 24 },
      'states of heads of 24 dimensions are not supported (supported: multiples of 16 up to 256)',
    ],
    [{ linear_value_head_dim: 512 }, 'states of heads of 512 dimensions are not supported'],
    [
      { linear_num_value_heads: 24 },
      'linear_num_value_heads 24 is not a multiple of linear_num_key_heads 16',
    ],
    [{ linear_num_value_heads: 512 }, 'a convolution of 69632 channels is not supported'],
    [{ linear_conv_kernel_dim: 9 }, 'a convolution of 9 tokens is not supported'],
  ])('is refused with %o', (changes, message) => {
    expect(() => parseText(changes)).toThrow(message);
  });
});

/** As Kimi-Linear-48B-A3B says it. */
const KIMI = {
  model_type: 'kimi_linear',
  vocab_size: 163_840,
  hidden_size: 2304,
  intermediate_size: 9216,
  num_hidden_layers: 27,
  num_attention_heads: 32,
  num_key_value_heads: 32,
  head_dim: 72,
  model_max_length: 1_048_576,
  kv_lora_rank: 512,
  q_lora_rank: null,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  mla_use_nope: true,
  rope_theta: 10_000,
  rope_scaling: null,
  first_k_dense_replace: 1,
  moe_intermediate_size: 1024,
  moe_layer_freq: 1,
  moe_renormalize: true,
  moe_router_activation_func: 'sigmoid',
  num_expert_group: 1,
  topk_group: 1,
  num_experts: 256,
  num_experts_per_token: 8,
  num_shared_experts: 1,
  routed_scaling_factor: 2.446,
  linear_attn_config: {
    full_attn_layers: [4, 8, 12, 16, 20, 24, 27],
    kda_layers: [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
    head_dim: 128,
    num_heads: 32,
    short_conv_kernel_size: 4,
  },
};

describe('Kimi Delta Attention', () => {
  const parseKimi = (changes: object = {}) =>
    parseDecoderConfig({ ...KIMI, ...changes }, 'config.json');
  const withLinear = (changes: object) => ({
    linear_attn_config: { ...KIMI.linear_attn_config, ...changes },
  });

  test('is in the layers that are named', () => {
    const { recurrence, experts, rotatedLayers, maxPositionEmbeddings } = parseKimi();
    expect(recurrence).toMatchObject({
      kind: 'gated delta',
      kernel: 4,
      channels: 3 * 4096,
      matrixSize: 32 * 128 * 128,
      narrowWidth: 128,
    });
    const attending = [...(recurrence?.layers.entries() ?? [])].filter(([, of]) => !of);
    expect(attending.map(([layer]) => layer)).toEqual([3, 7, 11, 15, 19, 23, 26]);
    expect(rotatedLayers).not.toContain(true);
    expect(maxPositionEmbeddings).toBe(1_048_576);
    expect(experts).toMatchObject({
      count: 256,
      perToken: 8,
      sharedSize: 1024,
      scoring: 'sigmoid',
    });
    expect(experts?.layers.indexOf(true)).toBe(1);
    expect(Math.round(countParameters(parseKimi()) / 1e9)).toBe(49);
  });

  test('is read as Transformers writes it, too', () => {
    const types = parseKimi().recurrence?.layers.map((of) =>
      of ? 'linear_attention' : 'full_attention',
    );
    const written = {
      linear_attn_config: null,
      layer_types: types,
      mlp_layer_types: types?.map((_, layer) => (layer < 1 ? 'dense' : 'sparse')),
      first_k_dense_replace: null,
      linear_head_dim: 128,
      linear_num_heads: 32,
      linear_conv_kernel_dim: 4,
    };
    expect(parseKimi(written)).toEqual(parseKimi());
  });

  const notOnce = 'kda_layers and full_attn_layers do not name each of 27 layers once';
  test.each([
    [withLinear({ full_attn_layers: [4] }), notOnce],
    [withLinear({ kda_layers: null }), notOnce],
    [withLinear({ full_attn_layers: [3, 8, 12, 16, 20, 24, 27] }), notOnce],
    [withLinear({ full_attn_layers: [0, 4, 8, 12, 16, 20, 24] }), notOnce],
    [withLinear({ full_attn_layers: [4, 4, 8, 12, 16, 20, 24, 27] }), notOnce],
    [withLinear({ kda_layers: Array.from({ length: 1025 }, () => 1) }), 'kda_layers'],
    [withLinear({ head_dim: 24 }), 'states of heads of 24 dimensions are not supported'],
    [withLinear({ head_dim: 1 << 20 }), 'linear_attn_config.head_dim'],
    [withLinear({ num_heads: 512 }), 'a convolution of 196608 channels is not supported'],
    [withLinear({ short_conv_kernel_size: 9 }), 'a convolution of 9 tokens is not supported'],
    [{ mla_use_nope: false }, 'mla_use_nope false is not supported'],
  ])('is refused with %o', (changes, message) => {
    expect(() => parseKimi(changes)).toThrow(message);
  });
});

/** As Granite 4.0 H 350M says it. */
const GRANITE = {
  model_type: 'granitemoehybrid',
  vocab_size: 100_352,
  hidden_size: 768,
  shared_intermediate_size: 2048,
  num_local_experts: 0,
  num_hidden_layers: 4,
  num_attention_heads: 12,
  num_key_value_heads: 4,
  max_position_embeddings: 32_768,
  position_embedding_type: 'nope',
  layer_types: ['mamba', 'mamba', 'attention', 'mamba'],
  mamba_n_heads: 48,
  mamba_d_head: 32,
  mamba_d_state: 128,
  residual_multiplier: 0.25,
  rms_norm_eps: 1e-5,
};

describe('Mamba-2', () => {
  const parseGranite = (changes: object = {}) =>
    parseDecoderConfig({ ...GRANITE, ...changes }, 'config.json');

  test('has matrices, and steps without limits', () => {
    expect(parseGranite().recurrence).toMatchObject({
      kind: 'selective scan',
      layers: [true, true, false, true],
      channels: 1536 + 2 * 128,
      matrixSize: 1536 * 128,
      steps: { least: 0, most: null },
      // Its input is not the residual sum.
      epsilon: 1e-5,
    });
    const limits = { time_step_limit: [0.1, { __float__: 'Infinity' }] };
    expect(parseGranite(limits).recurrence).toMatchObject({ steps: { least: 0.1, most: null } });
    const finite = { time_step_limit: [0.1, 2] };
    expect(parseGranite(finite).recurrence).toMatchObject({ steps: { least: 0.1, most: 2 } });
  });

  test.each([
    [{ mamba_n_heads: 47 }, 'mamba_n_heads 47 of 32 dimensions are not the 1536 of mamba_expand'],
    [{ mamba_n_groups: 5 }, 'is not a multiple of mamba_n_groups 5'],
    [{ mamba_d_state: 100 }, 'states of heads of 100 dimensions are not supported'],
    [
      { layer_types: ['mamba', 'other', 'attention', 'mamba'] },
      'layer type "other" is not supported',
    ],
  ])('is refused with %o', (changes, message) => {
    expect(() => parseGranite(changes)).toThrow(message);
  });
});

/** As Mamba-Codestral 7B says it, with what Python writes of infinity. */
const CODESTRAL = {
  model_type: 'mamba2',
  vocab_size: 32_768,
  hidden_size: 4096,
  intermediate_size: 8192,
  num_hidden_layers: 64,
  num_heads: 128,
  head_dim: 64,
  state_size: 128,
  n_groups: 8,
  conv_kernel: 4,
  expand: 2,
  hidden_act: 'silu',
  layer_norm_epsilon: 1e-5,
  norm_before_gate: true,
  rms_norm: true,
  time_step_min: 0.001,
  time_step_limit: [0, null],
  use_bias: false,
  use_conv_bias: true,
};

describe('Mamba-2 alone', () => {
  const parseMamba = (changes: object = {}) =>
    parseDecoderConfig({ ...CODESTRAL, ...changes }, 'config.json');

  test('has a state in every layer, and no other part', () => {
    const config = parseMamba();
    expect(config.recurrence).toMatchObject({
      layers: Array.from({ length: 64 }, () => true),
      kernel: 4,
      channels: 8192 + 2 * 8 * 128,
      matrixSize: 8192 * 128,
      numHeads: 128,
      headDim: 64,
      numGroups: 8,
      bias: false,
      outputBias: false,
      convolutionBias: true,
      steps: { least: 0, most: null },
      // As Transformers has it, whatever `norm_before_gate` says.
      norm: 'after gates',
      epsilon: 1e-5,
    });
    expect(config).toMatchObject({ maxPositionEmbeddings: 2 ** 20, tieWordEmbeddings: false });
    expect(numKvLayers(config)).toBe(0);
    // As its makers state it.
    expect(countParameters(config)).toBe(7_285_403_648);
  });

  test('has what is left out by default, and limits', () => {
    const { num_heads: _, head_dim: __, state_size: ___, n_groups: ____, ...rest } = CODESTRAL;
    expect(parseDecoderConfig(rest, 'config.json')).toEqual(parseMamba());
    const limits = { time_step_limit: [0.1, 2], max_position_embeddings: 512 };
    expect(parseMamba(limits)).toMatchObject({
      recurrence: { steps: { least: 0.1, most: 2 } },
      maxPositionEmbeddings: 512,
    });
  });

  test.each([
    [{ num_heads: 64 }, 'mamba_n_heads 64 of 64 dimensions are not the 8192 of mamba_expand'],
    [{ num_heads: 2 ** 20 }, 'mamba_n_heads'],
    [{ n_groups: 7 }, 'mamba_n_heads 128 is not a multiple of mamba_n_groups 7'],
    [{ state_size: 512 }, 'states of heads of 512 dimensions are not supported'],
    [{ conv_kernel: 9 }, 'a convolution of 9 tokens is not supported (supported: 2 to 8)'],
    [{ expand: 16, num_heads: 1024 }, 'a convolution of 67584 channels is not supported'],
    [{ hidden_act: 'gelu' }, 'mamba_hidden_act "gelu" is not supported (supported: silu)'],
    [{ layer_norm_epsilon: 0 }, 'rms_norm_eps'],
  ])('is refused with %o', (changes, message) => {
    expect(() => parseMamba(changes)).toThrow(message);
  });

  test('is left of hybrids without a layer that attends', () => {
    const types = Array.from({ length: 4 }, () => 'mamba');
    const config = parseDecoderConfig({ ...GRANITE, layer_types: types }, 'config.json');
    expect(numKvLayers(config)).toBe(0);
    expect(numKvLayers(parse({ full_attn_idxs: [] }))).toBe(0);
  });
});

test('a family without such layers keeps what its builds are named by', () => {
  const llama = { ...LFM2, model_type: 'llama', intermediate_size: 64 };
  const config = parseDecoderConfig(llama, 'config.json');
  expect(JSON.stringify(config)).not.toContain('recurren');
});
