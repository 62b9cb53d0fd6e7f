import { open } from 'node:fs/promises';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { layerMatrices } from '../../../src/model/graph/layer-matrices.ts';
import { Draws } from './random.ts';

const COMMON = {
  model_type: 'qwen2',
  vocab_size: 151_936,
  head_dim: 64,
  max_position_embeddings: 32_768,
  rope_theta: 1_000_000,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: true,
};

/** Shapes of Qwen 2.5, by their names there. */
export const SHAPES = {
  '0.5b': {
    ...COMMON,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
  },
  '1.5b': {
    ...COMMON,
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
    num_key_value_heads: 2,
    head_dim: 128,
  },
} as const;

/** Values that are drawn: all tensors are made of them, each from another place on. */
const DRAWN = 4_194_301;

/** Writes a checkpoint in bfloat16 with random weights: config.json and one safetensors file. */
export async function writeMadeUpCheckpoint(
  folder: string,
  shape: (typeof SHAPES)[keyof typeof SHAPES],
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'config.json'), JSON.stringify(shape));
  const tensors = tensorShapes(shape);
  const header: Record<string, object> = {};
  let end = 0;
  for (const [name, dims] of tensors) {
    const bytes = 2 * dims.reduce((product, dim) => product * dim, 1);
    header[name] = { dtype: 'BF16', shape: dims, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = await open(join(folder, 'model.safetensors'), 'w');
  try {
    await file.writev([length, text]);
    const drawn = drawnBytes();
    let place = 0;
    for (let written = 0; written < end;) {
      const piece = drawn.subarray(place, place + end - written);
      written += (await file.write(piece)).bytesWritten;
      place = (place + 2 * 1_000_003) % drawn.length;
    }
  } finally {
    await file.close();
  }
}

function tensorShapes(shape: (typeof SHAPES)[keyof typeof SHAPES]): Map<string, number[]> {
  const config = parseDecoderConfig(shape, 'the shape');
  const { hidden_size: hidden, num_hidden_layers: numLayers } = shape;
  const tensors = new Map([['model.embed_tokens.weight', [shape.vocab_size, hidden]]]);
  for (let layer = 0; layer < numLayers; layer++) {
    const [queryKeyValue, ...others] = layerMatrices(config, layer);
    for (const source of [queryKeyValue, ...others]) {
      for (const { name, rows } of source?.tensors ?? []) {
        tensors.set(name, [rows, source?.columns ?? 0]);
        if (source === queryKeyValue) tensors.set(name.replace(/weight$/, 'bias'), [rows]);
      }
    }
    const prefix = `model.layers.${layer}`;
    tensors.set(`${prefix}.input_layernorm.weight`, [hidden]);
    tensors.set(`${prefix}.post_attention_layernorm.weight`, [hidden]);
  }
  return tensors.set('model.norm.weight', [hidden]);
}

/** Normal, of standard deviation 0.02. */
function drawnBytes(): Uint8Array {
  const draws = new Draws(1);
  const values = Float32Array.from({ length: DRAWN }, () => 0.02 * draws.normal());
  const bits = new Uint32Array(values.buffer);
  const halves = Uint16Array.from(bits, (word) => word >>> 16);
  return new Uint8Array(halves.buffer);
}
