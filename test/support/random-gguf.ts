/** GGUF models of random blocks, in any of llama.cpp's types. */
import { writeFile } from 'node:fs/promises';

import { tensorType } from '../../src/model/gguf/tensor-types.ts';
import { float32ToFloat16 } from '../../src/model/huggingface/float-conversion.ts';
import { float, float32Tensor, ggufBytes, type Tensor, text, texts, uint } from './gguf-writer.ts';

/** Width of the hidden state. */
const WIDTH = 256;
const VOCAB_SIZE = 48;
export const MAX_LENGTH = 64;

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
export type TypeName = keyof typeof TYPES;

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

export type Matrix =
  | 'attn_q'
  | 'attn_k'
  | 'attn_v'
  | 'attn_output'
  | 'ffn_gate'
  | 'ffn_up'
  | 'ffn_down';

export interface RandomModel {
  readonly typeOf: (matrix: Matrix, layer: number) => TypeName;
  /** 0 for an MLP, also if left out. */
  readonly numExperts?: number;
  /** 1 if left out. */
  readonly numLayers?: number;
  /** Width of the MLP; that of the hidden state if left out. */
  readonly mlpWidth?: number;
}

export async function writeRandomGguf(
  path: string,
  { typeOf, numExperts = 0, numLayers = 1, mlpWidth = WIDTH }: RandomModel,
): Promise<void> {
  const around = (middle: number, spread: number) => () => middle + spread * (random() - 0.5);
  const tensors = [
    floats('token_embd.weight', [VOCAB_SIZE, WIDTH], around(0, 1)),
    floats('output_norm.weight', [WIDTH], around(1, 0.4)),
  ];
  const experts = numExperts === 0 ? [] : [numExperts];
  for (let layer = 0; layer < numLayers; layer++) {
    const block = `blk.${layer}`;
    tensors.push(
      floats(`${block}.attn_norm.weight`, [WIDTH], around(1, 0.4)),
      floats(`${block}.ffn_norm.weight`, [WIDTH], around(1, 0.4)),
    );
    for (const matrix of ['attn_q', 'attn_k', 'attn_v', 'attn_output'] as const) {
      const stored = `${block}.${matrix}.weight`;
      tensors.push(randomTensor(stored, [WIDTH, WIDTH], typeOf(matrix, layer)));
    }
    for (const matrix of ['ffn_gate', 'ffn_up', 'ffn_down'] as const) {
      const shape = matrix === 'ffn_down' ? [WIDTH, mlpWidth] : [mlpWidth, WIDTH];
      const stored = `${block}.${matrix}${numExperts === 0 ? '' : '_exps'}.weight`;
      tensors.push(randomTensor(stored, [...experts, ...shape], typeOf(matrix, layer)));
    }
    if (numExperts > 0) {
      tensors.push(floats(`${block}.ffn_gate_inp.weight`, [numExperts, WIDTH], around(0, 1)));
    }
  }
  const metadata = {
    'general.architecture': text('llama'),
    'llama.block_count': uint(numLayers),
    'llama.context_length': uint(MAX_LENGTH),
    'llama.embedding_length': uint(WIDTH),
    'llama.feed_forward_length': uint(mlpWidth),
    'llama.attention.head_count': uint(4),
    'llama.attention.head_count_kv': uint(4),
    'llama.attention.layer_norm_rms_epsilon': float(1e-5),
    'llama.expert_count': uint(numExperts),
    'llama.expert_used_count': uint(2),
    'tokenizer.ggml.tokens': texts(['a', 'b', 'c']),
  };
  await writeFile(path, ggufBytes(metadata, tensors));
}
