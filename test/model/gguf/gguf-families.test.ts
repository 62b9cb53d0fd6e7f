/** Every family as safetensors and as GGUF: the same configuration and the same weights. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { scaledFrequency } from '../../../src/model/huggingface/rope-scaling.ts';
import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { FAMILY_FIXTURES } from '../../support/families.ts';
import { type GgufCase, ggufOf, GRANITE, tensorShapes } from '../../support/gguf-family.ts';
import { float, ggufBytes, int32s, text, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Type of a value in metadata. */
const UINT32 = 4;

const CASES: readonly GgufCase[] = [
  { fixture: 'llama', architecture: 'llama', paired: true, factors: 'rope_freqs' },
  {
    fixture: 'llama-linear',
    architecture: 'llama',
    paired: true,
    metadata: { 'rope.scaling.type': text('linear'), 'rope.scaling.factor': float(4) },
  },
  {
    fixture: 'llama-yarn',
    architecture: 'llama',
    paired: true,
    metadata: {
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': float(4),
      'rope.scaling.original_context_length': uint(16),
    },
  },
  // Without the window, which llama.cpp's converter leaves out.
  { fixture: 'mistral', architecture: 'llama', paired: true, config: { sliding_window: null } },
  {
    fixture: 'ministral3',
    architecture: 'mistral3',
    paired: true,
    metadata: {
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': float(4),
      'rope.scaling.original_context_length': uint(64),
      'rope.scaling.yarn_log_multiplier': float(1),
      'attention.temperature_scale': float(0.1),
    },
  },
  {
    fixture: 'qwen2',
    architecture: 'qwen2',
    config: { use_sliding_window: false, layer_types: null },
  },
  {
    fixture: 'qwen3',
    architecture: 'qwen3',
    config: { use_sliding_window: false, layer_types: null },
  },
  {
    fixture: 'qwen3',
    architecture: 'qwen3',
    config: { use_sliding_window: false, layer_types: null },
    // A layer that predicts further tokens is counted in, and left out.
    metadata: { block_count: uint(3), nextn_predict_layers: uint(1) },
  },
  { fixture: 'phi3', architecture: 'phi3', metadata: { 'attention.sliding_window': uint(8) } },
  {
    fixture: 'phi3-longrope',
    architecture: 'phi3',
    factors: 'rope_factors',
    metadata: {
      'rope.scaling.original_context_length': uint(16),
      'rope.dimension_count': uint(16),
      'rope.scaling.attn_factor': float(Math.sqrt(1 + Math.log(4) / Math.log(16))),
    },
  },
  {
    fixture: 'gemma2',
    architecture: 'gemma2',
    config: { query_pre_attn_scalar: 32 },
    metadata: {
      'attention.sliding_window': uint(8),
      attn_logit_softcapping: float(2),
      final_logit_softcapping: float(2),
    },
  },
  {
    fixture: 'gemma3',
    architecture: 'gemma3',
    config: { query_pre_attn_scalar: 16 },
    metadata: {
      'attention.sliding_window': uint(8),
      'attention.sliding_window_pattern': int32s([1, 0]),
      'rope.freq_base_swa': float(50),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': float(4),
    },
  },
  {
    fixture: 'smollm3',
    architecture: 'smollm3',
    paired: true,
    config: { no_rope_layers: null, no_rope_layer_interval: 4 },
  },
  {
    // A window of 0 is no chunks, and rotary embedding in all layers.
    fixture: 'llama4-small',
    architecture: 'llama4',
    metadata: {
      'attention.sliding_window': uint(0),
      interleave_moe_layer_step: uint(0),
      expert_feed_forward_length: uint(8),
    },
  },
  GRANITE,
  { fixture: 'olmo2', architecture: 'olmo2' },
  {
    fixture: 'olmo3',
    architecture: 'olmo2',
    metadata: {
      'attention.sliding_window': uint(8),
      'attention.sliding_window_pattern': int32s([1, 0]),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': float(4),
      'rope.scaling.original_context_length': uint(16),
    },
  },
];

/** Parts that do not depend on how a configuration is written; numbers as float32. */
function comparable(whole: DecoderConfig) {
  const { family, ...config } = whole;
  const pairs = Array.from({ length: config.rotaryDim / 2 }, (_, index) => index);
  const frequencies = pairs.map((index) => Number(scaledFrequency(whole, index).toPrecision(5)));
  const rounded = Object.entries(config).map(([key, value]) => [
    key,
    typeof value === 'number' ? Number(value.toPrecision(6)) : value,
  ]);
  const modelType = family.modelType === 'mistral' ? 'llama' : family.modelType;
  const { ropeScaling: scaling } = config;
  const factor = 'attentionFactor' in scaling ? Number(scaling.attentionFactor.toPrecision(6)) : 1;
  return { ...Object.fromEntries(rounded), modelType, frequencies, ropeScaling: factor };
}

test.each(CASES)('$fixture', async (of) => {
  const folder = join(FAMILY_FIXTURES, of.fixture);
  const json: unknown = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const expected = parseDecoderConfig({ ...Object(json), ...of.config }, folder);
  const original = await SafetensorsWeights.open([join(folder, 'model.safetensors')]);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, await ggufOf(of, expected, original));

  const found = await inspectGguf(path);

  expect(comparable(found.config)).toEqual(comparable(expected));
  const weights = await found.open();
  let compared = 0;
  for (const [name, shape] of await tensorShapes(join(folder, 'model.safetensors'))) {
    if (expected.tieWordEmbeddings && name === 'lm_head.weight') continue;
    const [values, wanted] = [await weights.get(name, shape), await original.get(name, shape)];
    const worst = values.reduce(
      (most, value, index) => Math.max(most, Math.abs(value - (wanted[index] ?? NaN))),
      0,
    );
    // Exact but for norms that have 1 added and taken off.
    expect(worst, name).toBeLessThan(1e-6);
    compared++;
  }
  expect(compared).toBeGreaterThan(10);
  await weights.close();
  await original.close();
});

test.each([
  ['gemma4-small', 'block_count', 0xffff_ffff, '4294967295 layers are not from 1 to'],
  ['gemma4-small', 'block_count', 0, '0 layers are not from 1 to'],
  ['gemma4-small', 'block_count', 3, 'sliding_window_pattern has 4 values for 3 layers'],
  ['gemma4-small', 'attention.shared_kv_layers', 0xffff_ffff, 'num_kv_shared_layers'],
  ['gemma4-small', 'embedding_length_per_layer_input', 0xffff_ffff, 'hidden_size_per_layer'],
  ['gemma4-small', 'attention.key_length_swa', 0xffff_ffff, 'head_dim'],
  ['gemma3n', 'block_count', 0xffff_ffff, '4294967295 layers are not from 1 to'],
  ['gemma3n', 'altup.num_inputs', 0xffff_ffff, 'altup_num_inputs'],
  ['gemma3n', 'altup.num_inputs', 0, 'altup_num_inputs'],
  ['gemma3n', 'altup.active_idx', 1, 'altup_active_idx 1 is not supported'],
  ['gemma3n', 'attention.shared_kv_layers', 0, 'num_kv_shared_layers 0 is not supported'],
  ['gemma3n', 'embedding_length_per_layer_input', 0, 'hidden_size_per_layer_input 0'],
  ['llama4', 'expert_count', 0xffff_ffff, 'num_local_experts'],
  ['llama4', 'expert_count', 0, '1 experts for a token are more than all 0'],
  ['llama4', 'expert_used_count', 5, '5 experts for a token are more than all 4'],
  ['llama4', 'expert_feed_forward_length', 0xffff_ffff, 'moe_intermediate_size'],
  ['llama4', 'context_length', 0xffff_ffff, 'max_position_embeddings'],
])('%s with a %s of %i is refused', async (name, suffix, value, message) => {
  const architecture = name.replace('-small', '');
  const path = await changed(name, `${architecture}.${suffix}`, value);
  await expect(inspectGguf(path)).rejects.toThrow(message);
});

test.each([
  [4, true],
  [128, undefined],
])('Llama 4 with %i experts has norms of heads: %s', async (experts, hasNorms) => {
  const path = await changed('llama4', 'llama4.expert_count', experts);
  const { config } = await inspectGguf(path);
  expect(config.experts?.count).toBe(experts);
  expect(config.family.normalizesTurnedHeads).toBe(hasNorms);
});

/** Path of a copy of a fixture with another value of that key. */
async function changed(fixture: string, key: string, value: number): Promise<string> {
  const bytes = await readFile(`test/fixtures/gguf/${fixture}.gguf`);
  const at = bytes.indexOf(key) + key.length;
  expect(bytes.readUInt32LE(at)).toBe(UINT32);
  bytes.writeUInt32LE(value, at + 4);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, bytes);
  return path;
}

test.each([
  [
    'mamba',
    {},
    'general.architecture "mamba" is not supported (supported: llama, llama4, mistral3, qwen2',
  ],
  ['constructor', {}, 'general.architecture "constructor" is not supported'],
  ['llama', {}, 'has no metadata "llama.block_count"'],
])('architecture %s without more', async (name, metadata, message) => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, ggufBytes({ 'general.architecture': text(name), ...metadata }));
  await expect(inspectGguf(path)).rejects.toThrow(message);
});
