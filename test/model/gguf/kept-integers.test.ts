/** GGUF models whose blocks a build keeps: nothing may be rounded a second time. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { compareWeights } from '../../../src/model/compare/compare-weights.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { tensorType } from '../../../src/model/gguf/tensor-types.ts';
import { float32ToFloat16 } from '../../../src/model/huggingface/float-conversion.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { deviation, Text } from '../../support/family-text.ts';
import {
  float,
  float32Tensor,
  ggufBytes,
  type Tensor,
  text,
  texts,
  uint,
} from '../../support/gguf-writer.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const WIDTH = 256;
const VOCAB_SIZE = 48;
const MAX_LENGTH = 64;
const IDS = [3, 14, 15, 9, 26, 5, 35];

/** Where blocks have float16 numbers, and which make weights of a usual size. */
const TYPES = {
  Q4_0: { number: 2, halves: [[0, 0.01]] },
  Q4_1: {
    number: 3,
    halves: [
      [0, 0.01],
      [2, -0.08],
    ],
  },
  Q5_0: { number: 6, halves: [[0, 0.005]] },
  Q5_1: {
    number: 7,
    halves: [
      [0, 0.005],
      [2, -0.07],
    ],
  },
  Q8_0: { number: 8, halves: [[0, 0.0006]] },
  Q2_K: {
    number: 10,
    halves: [
      [80, 0.004],
      [82, 0.006],
    ],
  },
  Q3_K: { number: 11, halves: [[108, 0.001]] },
  Q4_K: {
    number: 12,
    halves: [
      [0, 0.0002],
      [2, 0.0015],
    ],
  },
  Q5_K: {
    number: 13,
    halves: [
      [0, 0.0001],
      [2, 0.0015],
    ],
  },
  Q6_K: { number: 14, halves: [[208, 0.00003]] },
  IQ4_NL: { number: 20, halves: [[0, 0.0006]] },
  IQ4_XS: { number: 23, halves: [[0, 0.00003]] },
  IQ2_XXS: { number: 16, halves: [[0, 0.0006]] },
  IQ2_XS: { number: 17, halves: [[0, 0.0006]] },
  IQ2_S: { number: 22, halves: [[0, 0.0006]] },
  IQ3_XXS: { number: 18, halves: [[0, 0.0002]] },
  IQ3_S: { number: 21, halves: [[0, 0.0002]] },
  IQ1_S: { number: 19, halves: [[0, 0.005]] },
  // Its float16 is scattered over the highest bits of four numbers.
  IQ1_M: { number: 29, halves: [], scattered: [48, 0.005] },
  TQ1_0: { number: 34, halves: [[52, 0.05]] },
  TQ2_0: { number: 35, halves: [[64, 0.02]] },
  Q1_0: { number: 41, halves: [[0, 0.05]] },
  Q2_0: { number: 42, halves: [[0, 0.02]] },
} as const satisfies Readonly<Record<string, BlockForm>>;
interface BlockForm {
  readonly number: number;
  readonly halves: readonly (readonly [at: number, size: number])[];
  readonly scattered?: readonly [at: number, size: number];
}
type TypeName = keyof typeof TYPES;

const cache = await temporaryCache();
afterAll(() => cache.remove());

let state = 1;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

function randomTensor(name: string, shape: readonly number[], of: TypeName): Tensor {
  const { number, halves, scattered }: BlockForm = TYPES[of];
  const { blockSize, blockBytes } = tensorType(number, name);
  const blocks = shape.reduce((product, size) => product * size, 1) / blockSize;
  const bytes = Uint8Array.from({ length: blocks * blockBytes }, () => 256 * random());
  for (let block = 0; block < blocks; block++) {
    for (const [at, size] of halves) {
      const [half = 0] = float32ToFloat16(Float32Array.of(size * (0.5 + random())));
      bytes.set([half & 255, half >> 8], block * blockBytes + at);
    }
    if (scattered === undefined) continue;
    const [half = 0] = float32ToFloat16(Float32Array.of(scattered[1] * (0.5 + random())));
    for (let part = 0; part < 4; part++) {
      const at = block * blockBytes + scattered[0] + 2 * part + 1;
      bytes[at] = ((bytes[at] ?? 0) & 15) | (((half >> (4 * part)) & 15) << 4);
    }
  }
  return { name, shape, type: number, bytes };
}

const floats = (name: string, shape: readonly number[], wanted: () => number) =>
  float32Tensor(
    name,
    shape,
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, wanted),
  );

type Matrix = 'attn_q' | 'attn_k' | 'attn_v' | 'attn_output' | 'ffn_gate' | 'ffn_up' | 'ffn_down';

/** @param numExperts 0 for an MLP */
async function writeModel(
  name: string,
  typeOf: (matrix: Matrix) => TypeName,
  numExperts = 0,
): Promise<string> {
  const around = (middle: number, spread: number) => () => middle + spread * (random() - 0.5);
  const tensors = [
    floats('token_embd.weight', [VOCAB_SIZE, WIDTH], around(0, 1)),
    floats('output_norm.weight', [WIDTH], around(1, 0.4)),
    floats('blk.0.attn_norm.weight', [WIDTH], around(1, 0.4)),
    floats('blk.0.ffn_norm.weight', [WIDTH], around(1, 0.4)),
  ];
  for (const matrix of ['attn_q', 'attn_k', 'attn_v', 'attn_output'] as const) {
    tensors.push(randomTensor(`blk.0.${matrix}.weight`, [WIDTH, WIDTH], typeOf(matrix)));
  }
  const experts = numExperts === 0 ? [] : [numExperts];
  for (const matrix of ['ffn_gate', 'ffn_up', 'ffn_down'] as const) {
    const stored = `blk.0.${matrix}${numExperts === 0 ? '' : '_exps'}.weight`;
    tensors.push(randomTensor(stored, [...experts, WIDTH, WIDTH], typeOf(matrix)));
  }
  if (numExperts > 0) {
    tensors.push(floats('blk.0.ffn_gate_inp.weight', [numExperts, WIDTH], around(0, 1)));
  }
  const metadata = {
    'general.architecture': text('llama'),
    'llama.block_count': uint(1),
    'llama.context_length': uint(MAX_LENGTH),
    'llama.embedding_length': uint(WIDTH),
    'llama.feed_forward_length': uint(WIDTH),
    'llama.attention.head_count': uint(4),
    'llama.attention.head_count_kv': uint(4),
    'llama.attention.layer_norm_rms_epsilon': float(1e-5),
    'llama.expert_count': uint(numExperts),
    'llama.expert_used_count': uint(2),
    'tokenizer.ggml.tokens': texts(['a', 'b', 'c']),
  };
  const path = join(cache.path, `${name}.gguf`);
  await writeFile(path, ggufBytes(metadata, tensors));
  return path;
}

type Kernels = 'native' | 'onnxruntime';

async function build(path: string, precision: 'fp32' | 'int8' | 'int4', kernels: Kernels) {
  const source = { kind: 'folder', path } as const;
  const nativeKernels = kernels === 'native' ? { kvCacheDtype: 'float32' as const } : undefined;
  return prepareModel(source, {
    precision,
    cacheDirectory: cache.path,
    ...(nativeKernels && { nativeKernels }),
  });
}

async function logitsOf(
  path: string,
  precision: 'fp32' | 'int8' | 'int4',
  kernels: Kernels,
): Promise<number[]> {
  const reader = new Text(await build(path, precision, kernels), MAX_LENGTH);
  // The last one alone: of experts, most have no token then.
  reader.extend(IDS);
  const logits = [...reader.extend([7])];
  reader.release();
  return logits;
}

interface Case {
  readonly name: string;
  readonly precision: 'int8' | 'int4';
  readonly forms: readonly string[];
  readonly typeOf: (matrix: Matrix) => TypeName;
  readonly numExperts: number;
}

const pure = (name: TypeName, precision: 'int8' | 'int4', form: string): Case => ({
  name,
  precision,
  forms: [form],
  typeOf: () => name,
  numExperts: 0,
});

const CASES: readonly Case[] = [
  pure('Q4_0', 'int4', '4 bits in blocks of 32'),
  pure('Q4_1', 'int4', '4 bits in blocks of 32 with offsets'),
  pure('Q5_0', 'int8', '8 bits in blocks of 32'),
  pure('Q5_1', 'int8', '8 bits in blocks of 32 with offsets'),
  pure('Q8_0', 'int8', '8 bits in blocks of 32'),
  pure('Q2_K', 'int4', '4 bits in blocks of 16 with offsets'),
  pure('Q3_K', 'int4', '4 bits in blocks of 16'),
  pure('Q4_K', 'int4', '4 bits in blocks of 32 with offsets'),
  pure('Q5_K', 'int8', '8 bits in blocks of 32 with offsets'),
  pure('Q6_K', 'int8', '8 bits in blocks of 16'),
  pure('IQ4_NL', 'int8', '8 bits in blocks of 32'),
  pure('IQ4_XS', 'int8', '8 bits in blocks of 32'),
  pure('IQ2_XXS', 'int8', '8 bits in blocks of 32'),
  pure('IQ2_XS', 'int8', '8 bits in blocks of 16'),
  pure('IQ2_S', 'int8', '8 bits in blocks of 16'),
  pure('IQ3_XXS', 'int8', '8 bits in blocks of 32'),
  pure('IQ3_S', 'int8', '8 bits in blocks of 32'),
  pure('IQ1_S', 'int8', '8 bits in blocks of 32'),
  pure('IQ1_M', 'int8', '8 bits in blocks of 16'),
  pure('TQ1_0', 'int4', '4 bits in blocks of 32'),
  pure('TQ2_0', 'int4', '4 bits in blocks of 32'),
  pure('Q1_0', 'int4', '4 bits in blocks of 32'),
  pure('Q2_0', 'int4', '4 bits in blocks of 32'),
  {
    name: 'Q4_K_M',
    precision: 'int4',
    forms: ['4 bits in blocks of 32 with offsets', '8 bits in blocks of 16'],
    typeOf: (matrix) => (/attn_v|ffn_down/.test(matrix) ? 'Q6_K' : 'Q4_K'),
    numExperts: 0,
  },
  {
    ...pure('Q4_1', 'int4', '4 bits in blocks of 32 with offsets'),
    name: 'mixture',
    numExperts: 8,
  },
];

describe.each(everyOrLong(2, CASES))('$name', ({ name, precision, forms, typeOf, numExperts }) => {
  it(`is kept in ${precision}`, async () => {
    const path = await writeModel(name, typeOf, numExperts);
    const description = forms.join(', ');
    const hasOffsets = description.includes('offsets');
    const expectedPrecision = { precision, isNative: true, hasOffsets, description };
    expect((await inspectGguf(path)).stored).toEqual(expectedPrecision);
    const source = { kind: 'folder', path } as const;
    const model = await build(path, precision, 'onnxruntime');
    const changes = await compareWeights(source, model, { withErrors: true });
    const layers = changes.filter(({ layer }) => layer !== null);
    expect(layers).toHaveLength(numExperts === 0 ? 4 : 2 + 2 * numExperts);
    for (const { form, error } of layers) {
      expect(forms).toEqual(expect.arrayContaining(form.split(', ')));
      expect(error?.relative).toBeLessThan(1e-6);
    }
    // The rest is the rounding of activations, and of the embedding.
    const expected = await logitsOf(path, 'fp32', 'onnxruntime');
    const logits = await logitsOf(path, precision, 'onnxruntime');
    expect(deviation(logits, expected)).toBeLessThan(0.03);
  });

  it(`is kept in ${precision} by our own kernels`, async () => {
    const path = await writeModel(`${name}-native`, typeOf, numExperts);
    const source = { kind: 'folder', path } as const;
    const model = await build(path, precision, 'native');
    const changes = await compareWeights(source, model, { withErrors: true });
    const layers = changes.filter(({ layer }) => layer !== null);
    expect(layers).toHaveLength(numExperts === 0 ? 4 : 2 + 2 * numExperts);
    for (const { error } of layers) {
      // Scales and offsets are float16 there.
      expect(error?.relative).toBeLessThan(2 ** -10);
    }
    // The embedding is as it is stored, too: what is left is the rounding of activations.
    const expected = await logitsOf(path, 'fp32', 'onnxruntime');
    expect(deviation(await logitsOf(path, precision, 'native'), expected)).toBeLessThan(0.03);
  });
});

it('rounds what a mixture has in 8 bits with the rest where int8 is asked for', async () => {
  const path = await writeModel('mixed', (matrix) => (matrix === 'attn_v' ? 'Q6_K' : 'Q4_K'));
  const source = { kind: 'folder', path } as const;
  const changes = await compareWeights(source, await build(path, 'int8', 'onnxruntime'), {
    withErrors: false,
  });
  const forms = changes.flatMap(({ layer, form }) => (layer === null ? [] : [form]));
  expect(new Set(forms)).toEqual(new Set(['8 bits in rows']));
});
