/** Every family as safetensors and as GGUF: the same configuration and the same weights. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { scaledFrequency } from '../../../src/model/huggingface/rope-scaling.ts';
import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { tensorPlaces } from '../../../src/model/gguf/tensor-names.ts';
import {
  float,
  float32Tensor,
  ggufBytes,
  int32s,
  type Tensor,
  text,
  texts,
  uint,
  type Value,
} from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures/families';

interface Case {
  readonly fixture: string;
  readonly architecture: string;
  /** llama.cpp's converter makes neighbours of dimensions that turn together. */
  readonly paired?: boolean;
  /** Changes to the fixture's config.json, where GGUF files can't say it. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Besides what all have, without the architecture's name. */
  readonly metadata?: Readonly<Record<string, Value>>;
  readonly factors?: 'rope_freqs' | 'rope_factors';
}

const CASES: readonly Case[] = [
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
    fixture: 'qwen2',
    architecture: 'qwen2',
    config: { use_sliding_window: false, layer_types: null },
  },
  {
    fixture: 'qwen3',
    architecture: 'qwen3',
    config: { use_sliding_window: false, layer_types: null },
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
    fixture: 'granite',
    architecture: 'granite',
    paired: true,
    metadata: {
      'attention.scale': float(0.2),
      embedding_scale: float(3),
      residual_scale: float(0.4),
      logit_scale: float(2),
    },
  },
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

const shapes = z.record(z.string(), z.looseObject({ shape: z.array(z.int()).optional() }));

async function tensorShapes(path: string): Promise<[string, number[]][]> {
  const bytes = await readFile(path);
  const header = bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())).toString();
  const entries = Object.entries(shapes.parse(JSON.parse(header)));
  return entries.flatMap(([name, { shape }]) => (shape ? [[name, shape]] : []));
}

function pairRows(values: Float32Array, columns: number, headDim: number): Float32Array {
  const paired = new Float32Array(values.length);
  for (let row = 0; row < values.length / columns; row++) {
    const within = row % headDim;
    const target = row - within + (within % (headDim / 2)) * 2 + Math.floor(within / (headDim / 2));
    paired.set(values.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return paired;
}

async function writeCase(of: Case, config: DecoderConfig, weights: SafetensorsWeights) {
  const { fixture, architecture, paired = false, metadata = {}, factors } = of;
  const places = tensorPlaces(config);
  const tensors: Tensor[] = [];
  for (const [name, shape] of await tensorShapes(join(FIXTURES, fixture, 'model.safetensors'))) {
    const dot = name.lastIndexOf('.');
    const place = places.get(name.slice(0, dot));
    if (!place || (config.tieWordEmbeddings && place.name === 'output')) continue;
    let values = await weights.get(name, shape);
    if (paired && place.kind === 'heads') {
      values = pairRows(values, values.length / (shape[0] ?? 1), config.headDim);
    }
    if (place.kind === 'norm' && architecture.startsWith('gemma'))
      values = values.map((w) => w + 1);
    tensors.push(float32Tensor(place.name + name.slice(dot), shape, values));
  }
  const pairs = Array.from({ length: config.rotaryDim / 2 }, (_, index) => index);
  const divisors = (scaled: DecoderConfig) =>
    Float32Array.from(
      pairs,
      (index) =>
        scaledFrequency({ ...scaled, ropeScaling: { type: 'default' } }, index) /
        scaledFrequency(scaled, index),
    );
  if (factors === 'rope_freqs') {
    tensors.push(float32Tensor('rope_freqs.weight', [pairs.length], divisors(config)));
  }
  if (factors === 'rope_factors') {
    const short = Float32Array.from(pairs, () => 1);
    tensors.push(float32Tensor('rope_factors_long.weight', [pairs.length], divisors(config)));
    tensors.push(float32Tensor('rope_factors_short.weight', [pairs.length], short));
  }
  const own: Record<string, Value> = {
    block_count: uint(config.numLayers),
    context_length: uint(64),
    embedding_length: uint(config.hiddenSize),
    feed_forward_length: uint(config.intermediateSize),
    'attention.head_count': uint(config.numHeads),
    'attention.head_count_kv': uint(config.numKvHeads),
    'attention.key_length': uint(config.headDim),
    'attention.value_length': uint(config.headDim),
    'attention.layer_norm_rms_epsilon': float(fixture === 'granite' ? 0.01 : config.rmsNormEps),
    'rope.freq_base': float(config.ropeTheta),
    'rope.dimension_count': uint(config.rotaryDim),
    ...metadata,
  };
  return ggufBytes(
    {
      'general.architecture': text(architecture),
      ...Object.fromEntries(
        Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value]),
      ),
      'tokenizer.ggml.tokens': texts(['a', 'b', 'c']),
      'tokenizer.ggml.bos_token_id': uint(1),
      'tokenizer.ggml.eos_token_id': uint(2),
    },
    tensors,
  );
}

/** What does not depend on how a configuration is written; numbers as float32. */
function comparable(whole: DecoderConfig) {
  const { family, ...config } = whole;
  const pairs = Array.from({ length: config.rotaryDim / 2 }, (_, index) => index);
  const frequencies = pairs.map((index) => Number(scaledFrequency(whole, index).toPrecision(5)));
  const rounded = Object.entries(config).map(([key, value]) => [
    key,
    typeof value === 'number' ? Number(value.toPrecision(6)) : value,
  ]);
  const modelType = family.modelType === 'mistral' ? 'llama' : family.modelType;
  return { ...Object.fromEntries(rounded), modelType, frequencies, ropeScaling: null };
}

test.each(CASES)('$fixture', async (of) => {
  const folder = join(FIXTURES, of.fixture);
  const json: unknown = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const expected = parseDecoderConfig({ ...Object(json), ...of.config }, folder);
  const original = await SafetensorsWeights.open([join(folder, 'model.safetensors')]);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, await writeCase(of, expected, original));

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
  ['mamba', {}, 'general.architecture "mamba" is not supported (supported: llama, qwen2'],
  ['constructor', {}, 'general.architecture "constructor" is not supported'],
  ['llama', {}, 'has no metadata "llama.block_count"'],
])('architecture %s without more', async (name, metadata, message) => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, ggufBytes({ 'general.architecture': text(name), ...metadata }));
  await expect(inspectGguf(path)).rejects.toThrow(message);
});
