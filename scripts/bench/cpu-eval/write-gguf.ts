import { rename } from 'node:fs/promises';
import { z } from 'zod';
import { KNOWN_FAMILIES } from '../../../src/model/families/known-families.ts';
import { architectureOf } from '../../../src/model/gguf/architectures.ts';
import { storedOrder } from '../../../src/model/gguf/stored-order.ts';
import { tensorPlaces } from '../../../src/model/gguf/tensor-names.ts';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { piecesOf, type WeightSource } from '../../../src/model/huggingface/weights.ts';
import { tensorShapes } from '../lib/made-up-checkpoint.ts';
import { type GgufTensor, type GgufValue, writeGguf } from '../peers/gguf-file.ts';
import { type GgufType, quantize, quantizedBytes } from '../peers/gguf-quantization.ts';
import type { PaddedTokenizer } from './tokenizer.ts';

/** ggml's numbers of element types, and llama.cpp's of whole files in them. */
const ELEMENT_TYPE = { f32: 0, q4_0: 2, q8_0: 8 } as const;
const FILE_TYPE: Readonly<Record<GgufType, number>> = { q4_0: 2, q8_0: 7 };

/** llama.cpp's kinds of tokens. */
const TOKEN_TYPE = { normal: 1, control: 3, added: 4 } as const;

const NO_TRAITS = {
  windows: false,
  'image sections': false,
  'joined states': false,
  experts: false,
  'no experts': true,
  'two norms': false,
  correction: false,
  'unshared experts': false,
  'shared experts': false,
  'finetuned rope': false,
};

/** Fields of config.json whose values our graphs fold into others. */
const foldedFields = z.looseObject({
  rms_norm_eps: z.number(),
  attention_multiplier: z.number().optional(),
  embedding_multiplier: z.number().optional(),
  residual_multiplier: z.number().optional(),
  logits_scaling: z.number().optional(),
});

export interface Checkpoint {
  /** Its config.json. */
  readonly shape: object;
  readonly weights: WeightSource;
  readonly tokenizer: PaddedTokenizer;
}

/**
 * Writes a checkpoint of a dense family as GGUF, every matrix in one type (as `llama-quantize --pure` does).
 * Matrices are read and quantized in pieces: memory is that of the largest one, quantized.
 */
export async function writeQuantized(
  path: string,
  { shape, weights, tokenizer }: Checkpoint,
  type: GgufType,
): Promise<void> {
  const config = parseDecoderConfig(shape, path);
  const known = KNOWN_FAMILIES.find(({ family }) => family === config.family)?.gguf;
  if (!known) throw new Error(`llama.cpp has no ${config.family.modelType}`);
  const architecture = architectureOf(known.architecture, NO_TRAITS, path);
  const places = tensorPlaces(config, architecture);
  const tensors = [...tensorShapes(config)].map(([name, dims]) => {
    const [base = '', suffix = ''] = name.split(/\.(?=[^.]+$)/);
    const place = places.get(base);
    if (place === undefined) throw new Error(`no name for ${name} in a GGUF file`);
    const to = `${place.name}.${suffix}`;
    const order = storedOrder(place, config, architecture);
    return dims.length === 1
      ? vector(to, weights, name, dims)
      : matrix(to, weights, name, dims, type, order?.placeOf ?? null);
  });
  const fields = { ...shapeFields(config, shape, type, known.architecture) };
  await writeGguf(`${path}.unfinished`, { ...fields, ...tokenFields(tokenizer) }, tensors);
  await rename(`${path}.unfinished`, path);
}

function shapeFields(
  config: DecoderConfig,
  shape: object,
  type: GgufType,
  name: string,
): Record<string, GgufValue> {
  const folded = foldedFields.parse(shape);
  const scales = {
    'attention.scale': folded.attention_multiplier,
    embedding_scale: folded.embedding_multiplier,
    residual_scale: folded.residual_multiplier,
    logit_scale: folded.logits_scaling,
  };
  const stated = Object.entries(scales).flatMap(([key, value]) =>
    value === undefined ? [] : [[`${name}.${key}`, { float32: value }] as const],
  );
  return {
    'general.architecture': { string: name },
    'general.file_type': { uint32: FILE_TYPE[type] },
    [`${name}.vocab_size`]: { uint32: config.vocabSize },
    [`${name}.context_length`]: { uint32: config.maxPositionEmbeddings },
    [`${name}.embedding_length`]: { uint32: config.hiddenSize },
    [`${name}.block_count`]: { uint32: config.numLayers },
    [`${name}.feed_forward_length`]: { uint32: config.intermediateSizes[0] ?? 0 },
    [`${name}.attention.head_count`]: { uint32: config.numHeads },
    [`${name}.attention.head_count_kv`]: { uint32: config.numKvHeads },
    [`${name}.attention.key_length`]: { uint32: config.headDim },
    [`${name}.attention.value_length`]: { uint32: config.headDim },
    [`${name}.attention.layer_norm_rms_epsilon`]: { float32: folded.rms_norm_eps },
    [`${name}.rope.dimension_count`]: { uint32: config.rotaryDim },
    [`${name}.rope.freq_base`]: { float32: config.ropeTheta },
    ...Object.fromEntries(stated),
  };
}

function tokenFields({ tokens, merges, added }: PaddedTokenizer): Record<string, GgufValue> {
  const kinds = tokens.map((_, id) => {
    const isSpecial = added.get(id);
    if (isSpecial === undefined) return TOKEN_TYPE.normal;
    return isSpecial ? TOKEN_TYPE.control : TOKEN_TYPE.added;
  });
  const idOf = (token: string) => ({ uint32: tokens.indexOf(token) });
  return {
    'tokenizer.ggml.model': { string: 'gpt2' },
    // Splits as summit's: digits by themselves, then as GPT-2.
    'tokenizer.ggml.pre': { string: 'smollm' },
    'tokenizer.ggml.tokens': { strings: tokens },
    'tokenizer.ggml.token_type': { int32s: kinds },
    'tokenizer.ggml.merges': { strings: merges },
    'tokenizer.ggml.bos_token_id': idOf('<|im_start|>'),
    'tokenizer.ggml.eos_token_id': idOf('<|im_end|>'),
  };
}

function vector(
  to: string,
  weights: WeightSource,
  name: string,
  dims: readonly number[],
): GgufTensor {
  return {
    name: to,
    shape: dims,
    type: ELEMENT_TYPE.f32,
    byteLength: 4 * (dims[0] ?? 0),
    load: async () => new Uint8Array((await weights.get(name, dims)).buffer),
  };
}

/** @param placeOf by a row's place in safetensors, that in the file; null where they are the same */
function matrix(
  to: string,
  weights: WeightSource,
  name: string,
  dims: readonly number[],
  type: GgufType,
  placeOf: ((row: number) => number) | null,
): GgufTensor {
  const [rows = 0, columns = 0] = dims;
  const rowBytes = quantizedBytes(type, columns);
  return {
    name: to,
    shape: dims,
    type: ELEMENT_TYPE[type],
    byteLength: rows * rowBytes,
    load: async () => {
      const bytes = new Uint8Array(rows * rowBytes);
      let row = 0;
      for await (const piece of piecesOf(weights, name, dims)) {
        const made = quantize(type, piece);
        for (let from = 0; from < made.length; from += rowBytes) {
          const place = placeOf === null ? row : placeOf(row);
          bytes.set(made.subarray(from, from + rowBytes), place * rowBytes);
          row++;
        }
      }
      return bytes;
    },
  };
}
