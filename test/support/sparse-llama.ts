import { tensorType } from '../../src/model/gguf/tensor-types.ts';
import { float, type SparseTensor, text, texts, uint, writeSparseGguf } from './gguf-writer.ts';

const NUMBERS = { Q4_0: 2, Q4_1: 3, Q8_0: 8, Q4_K: 12, Q6_K: 14, IQ4_XS: 23 } as const;

export interface SparseLlama {
  readonly vocabSize: number;
  /** Width of hidden states, and of all matrices: a multiple of 64, and of the type's blocks. */
  readonly width: number;
  /** Type of all matrices. */
  readonly type: keyof typeof NUMBERS;
  /** Bytes that are not 0, by tensor and place. */
  readonly pieces: Readonly<Record<string, ReadonlyMap<number, Uint8Array>>>;
}

/** Writes a GGUF model of one layer with heads of 64, most of whose weights are 0. */
export function writeSparseLlama(
  path: string,
  { vocabSize, width, type, pieces }: SparseLlama,
): Promise<void> {
  const { blockBytes, blockSize } = tensorType(NUMBERS[type], type);
  const matrix = (name: string, rows: number): SparseTensor => ({
    name,
    shape: [rows, width],
    type: NUMBERS[type],
    byteLength: rows * (width / blockSize) * blockBytes,
    pieces: pieces[name] ?? new Map(),
  });
  const ones = new Uint8Array(new Float32Array(width).fill(1).buffer);
  const norm = (name: string): SparseTensor => ({
    name,
    shape: [width],
    type: 0,
    byteLength: ones.length,
    pieces: new Map([[0, ones], ...(pieces[name] ?? [])]),
  });
  const ofLayer = ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'];
  const tensors = [
    matrix('token_embd.weight', vocabSize),
    ...['output_norm', 'blk.0.attn_norm', 'blk.0.ffn_norm'].map((name) => norm(`${name}.weight`)),
    ...ofLayer.map((name) => matrix(`blk.0.${name}.weight`, width)),
  ];
  const metadata = {
    'general.architecture': text('llama'),
    'llama.block_count': uint(1),
    'llama.context_length': uint(64),
    'llama.embedding_length': uint(width),
    'llama.feed_forward_length': uint(width),
    'llama.attention.head_count': uint(width / 64),
    'llama.attention.head_count_kv': uint(width / 64),
    'llama.attention.layer_norm_rms_epsilon': float(1e-6),
    'tokenizer.ggml.tokens': texts(['a', 'b', 'c']),
  };
  return writeSparseGguf(path, metadata, tensors);
}
