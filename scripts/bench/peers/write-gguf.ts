import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';
import { layerTensorNames } from '../../../src/model/families/family.ts';
import { PRESETS, type PresetName } from '../../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import type { WeightSource } from '../../../src/model/huggingface/weights.ts';
import { type GgufTensor, type GgufValue, writeGguf } from './gguf-file.ts';
import { type GgufType, quantize, quantizedBytes } from './gguf-quantization.ts';

/** Raised when what is written changes. */
const VERSION = 1;

/** ggml's numbers of element types, and llama.cpp's of whole files in them. */
const ELEMENT_TYPE = { f32: 0, q4_0: 2, q8_0: 8 } as const;
const FILE_TYPE: Readonly<Record<GgufType, number>> = { q4_0: 2, q8_0: 7 };

/** llama.cpp's kinds of tokens. */
const TOKEN_TYPE = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

/** One parameter for all tensors, as by `llama-quantize --pure`: nothing is kept in more bits. */
interface Writer {
  readonly config: DecoderConfig;
  readonly weights: WeightSource;
  readonly type: GgufType;
}

/**
 * A preset with random weights as GGUF, the same weights that Chairlift makes up for this seed.
 * Written once, into the cache of built models.
 * @returns the file's path
 */
export async function prepareGguf(
  preset: PresetName,
  seed: number,
  type: GgufType,
): Promise<string> {
  const folder = join(defaultCacheDirectory(), 'peers');
  const path = join(folder, `${preset}-${seed}-${type}-v${VERSION}.gguf`);
  if (await stat(path).catch(() => null)) return path;
  await mkdir(folder, { recursive: true });
  const config = parseDecoderConfig(PRESETS[preset], preset);
  const unfinished = `${path}.${process.pid}`;
  await writeLlama(unfinished, { config, weights: new RandomWeights(seed), type });
  await rename(unfinished, path);
  return path;
}

/** Writes any model of the Llama family. */
export function writeLlama(path: string, writer: Writer): Promise<void> {
  return writeGguf(path, metadata(writer.config, writer.type), tensors(writer));
}

function metadata(config: DecoderConfig, type: GgufType): Record<string, GgufValue> {
  return {
    'general.architecture': { string: 'llama' },
    'general.file_type': { uint32: FILE_TYPE[type] },
    'llama.context_length': { uint32: config.maxPositionEmbeddings },
    'llama.embedding_length': { uint32: config.hiddenSize },
    'llama.block_count': { uint32: config.numLayers },
    'llama.feed_forward_length': { uint32: config.intermediateSizes[0] ?? 0 },
    'llama.attention.head_count': { uint32: config.numHeads },
    'llama.attention.head_count_kv': { uint32: config.numKvHeads },
    'llama.attention.layer_norm_rms_epsilon': { float32: config.rmsNormEps },
    'llama.rope.dimension_count': { uint32: config.headDim },
    'llama.rope.freq_base': { float32: config.ropeTheta },
    'llama.vocab_size': { uint32: config.vocabSize },
    ...dummyTokenizer(config.vocabSize),
  };
}

/** A vocabulary that loads: bytes, then made-up words. Only ids go in and out. */
function dummyTokenizer(vocabSize: number): Record<string, GgufValue> {
  const special = ['<unk>', '<s>', '</s>'];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const numWords = vocabSize - special.length - bytes.length;
  const words = Array.from({ length: numWords }, (_, index) => `▁w${index}`);
  return {
    'tokenizer.ggml.model': { string: 'llama' },
    'tokenizer.ggml.tokens': { strings: [...special, ...bytes, ...words] },
    'tokenizer.ggml.scores': { float32s: Array.from({ length: vocabSize }, (_, id) => -id) },
    'tokenizer.ggml.token_type': {
      int32s: [
        TOKEN_TYPE.unknown,
        TOKEN_TYPE.control,
        TOKEN_TYPE.control,
        ...bytes.map(() => TOKEN_TYPE.byte),
        ...words.map(() => TOKEN_TYPE.normal),
      ],
    },
    'tokenizer.ggml.bos_token_id': { uint32: 1 },
    'tokenizer.ggml.eos_token_id': { uint32: 2 },
  };
}

function tensors(writer: Writer): GgufTensor[] {
  const { family, vocabSize, hiddenSize, numLayers, tieWordEmbeddings } = writer.config;
  const { embedding, finalNorm, lmHead } = family.tensors;
  return [
    matrix(writer, 'token_embd', embedding, vocabSize, hiddenSize),
    vector(writer, 'output_norm', finalNorm, hiddenSize),
    ...(tieWordEmbeddings ? [] : [matrix(writer, 'output', lmHead, vocabSize, hiddenSize)]),
    ...Array.from({ length: numLayers }, (_, layer) => layerTensors(writer, layer)).flat(),
  ];
}

function layerTensors(writer: Writer, layer: number): GgufTensor[] {
  const { config } = writer;
  const { hiddenSize, intermediateSizes, numHeads, numKvHeads, headDim } = config;
  const intermediateSize = intermediateSizes[layer] ?? 0;
  const names = layerTensorNames(config.family, layer);
  // Llama's: a tensor for each.
  const [query = '', key = '', value = ''] = names.queryKeyValue;
  const [gate = '', up = ''] = names.gateUp;
  const [queries, keys] = [numHeads * headDim, numKvHeads * headDim];
  const of = (name: string) => `blk.${layer}.${name}`;
  return [
    vector(writer, of('attn_norm'), names.attentionNorm ?? '', hiddenSize),
    matrix(writer, of('attn_q'), query, queries, hiddenSize, headDim),
    matrix(writer, of('attn_k'), key, keys, hiddenSize, headDim),
    matrix(writer, of('attn_v'), value, keys, hiddenSize),
    matrix(writer, of('attn_output'), names.attentionOutput, hiddenSize, queries),
    vector(writer, of('ffn_norm'), names.mlpNorm ?? '', hiddenSize),
    matrix(writer, of('ffn_gate'), gate, intermediateSize, hiddenSize),
    matrix(writer, of('ffn_up'), up, intermediateSize, hiddenSize),
    matrix(writer, of('ffn_down'), names.down, hiddenSize, intermediateSize),
  ];
}

function vector({ weights }: Writer, name: string, tensor: string, length: number): GgufTensor {
  return {
    name: `${name}.weight`,
    shape: [length],
    type: ELEMENT_TYPE.f32,
    byteLength: length * 4,
    load: async () => new Uint8Array((await weights.get(`${tensor}.weight`, [length])).buffer),
  };
}

/** @param headDim set for queries and keys, whose rows llama.cpp wants in another order */
function matrix(
  { weights, type }: Writer,
  name: string,
  tensor: string,
  rows: number,
  columns: number,
  headDim?: number,
): GgufTensor {
  return {
    name: `${name}.weight`,
    shape: [rows, columns],
    type: ELEMENT_TYPE[type],
    byteLength: quantizedBytes(type, rows * columns),
    load: async () => {
      const values = await weights.get(`${tensor}.weight`, [rows, columns]);
      return quantize(type, headDim ? pairRows(values, columns, headDim) : values);
    },
  };
}

/**
 * Rotary dimensions i and i + headDim / 2 of each head become neighbours: llama.cpp rotates pairs
 * of neighbours, Hugging Face's layout pairs the halves of a head.
 */
function pairRows(values: Float32Array, columns: number, headDim: number): Float32Array {
  const paired = new Float32Array(values.length);
  const half = headDim / 2;
  for (let row = 0; row < values.length / columns; row++) {
    const within = row % headDim;
    const target = row - within + (within % half) * 2 + Math.floor(within / half);
    paired.set(values.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return paired;
}
