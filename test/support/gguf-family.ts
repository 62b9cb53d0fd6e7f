/** Families' fixtures as GGUF files. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import { scaledFrequency } from '../../src/model/huggingface/rope-scaling.ts';
import type { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';
import { tensorPlaces } from '../../src/model/gguf/tensor-names.ts';
import { FAMILY_FIXTURES } from './families.ts';
import {
  float,
  float32Tensor,
  ggufBytes,
  type Tensor,
  text,
  texts,
  uint,
  type Value,
} from './gguf-writer.ts';

export interface GgufCase {
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

export const GRANITE: GgufCase = {
  fixture: 'granite',
  architecture: 'granite',
  paired: true,
  metadata: {
    'attention.scale': float(0.2),
    embedding_scale: float(3),
    residual_scale: float(0.4),
    logit_scale: float(2),
  },
};

const shapes = z.record(z.string(), z.looseObject({ shape: z.array(z.int()).optional() }));

export async function tensorShapes(path: string): Promise<[string, number[]][]> {
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

/** @returns the file */
export async function ggufOf(
  of: GgufCase,
  config: DecoderConfig,
  weights: SafetensorsWeights,
): Promise<Buffer> {
  const { fixture, architecture, paired = false, metadata = {}, factors } = of;
  const places = tensorPlaces(config, { mlpNorm: 'ffn_norm' });
  const tensors: Tensor[] = [];
  for (const [name, shape] of await tensorShapes(
    join(FAMILY_FIXTURES, fixture, 'model.safetensors'),
  )) {
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
    feed_forward_length: uint(config.intermediateSizes[0] ?? 0),
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
