import { type FileHandle, mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layerTensorNames, ofLayer } from '../../../src/model/families/family.ts';
import { layerMatrices } from '../../../src/model/graph/layer-matrices.ts';
import { type DecoderConfig, parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { atLayer, keysOf } from '../../../src/model/huggingface/layer-heads.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { SHARD_INDEX, SINGLE_FILE } from '../../../src/model/huggingface/safetensors.ts';

/** Values that are drawn: all tensors are made of them, each from another place on. */
const DRAWN = 4_194_301;
/** Bytes of a file, unless one tensor has more. */
const SHARD_BYTES = 2 ** 31;
/** 1 in bfloat16, little-endian. */
const ONE = Buffer.from([0x80, 0x3f]);

type Tensors = ReadonlyMap<string, readonly number[]>;

/**
 * Writes a checkpoint in bfloat16 with random weights: config.json and safetensors, in shards where they are
 * large. Matrices and biases are bell-shaped around 0 with standard deviation 0.02, norms and factors are 1.
 * @param shape a config.json of a family whose layers attend and have an MLP
 */
export async function writeMadeUpCheckpoint(folder: string, shape: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  const stated = { ...shape, torch_dtype: 'bfloat16' };
  await writeFile(join(folder, 'config.json'), JSON.stringify(stated));
  const shards = inShards(tensorShapes(parseDecoderConfig(shape, 'the shape')));
  const drawn = await drawnBytes();
  const numbered = (index: number) =>
    `model-${digits(index + 1)}-of-${digits(shards.length)}.safetensors`;
  const names = shards.map((_, index) => (shards.length === 1 ? SINGLE_FILE : numbered(index)));
  for (const [index, shard] of shards.entries()) {
    await writeShard(join(folder, names[index] ?? ''), shard, drawn, index);
  }
  if (shards.length === 1) return;
  const files = shards.flatMap((shard, index) =>
    [...shard.keys()].map((name) => [name, names[index]]),
  );
  const index = { metadata: {}, weight_map: Object.fromEntries(files) };
  await writeFile(join(folder, SHARD_INDEX), JSON.stringify(index));
}

/** Every tensor of a decoder whose layers attend and have an MLP, by its name in safetensors. */
export function tensorShapes(config: DecoderConfig): Map<string, number[]> {
  const { family, vocabSize, hiddenSize, numLayers, layerInputs } = config;
  const { embedding, finalNorm, lmHead } = family.tensors;
  const tensors = new Map([[`${embedding}.weight`, [vocabSize, hiddenSize]]]);
  for (let layer = 0; layer < numLayers; layer++) {
    const [queryKeyValue, ...others] = layerMatrices(config, layer);
    for (const source of [queryKeyValue, ...others]) {
      for (const { name, rows } of source?.tensors ?? []) {
        tensors.set(name, [rows, source?.columns ?? 0]);
        const isBiased = source === queryKeyValue && config.queryKeyValueBias;
        if (isBiased) tensors.set(name.replace(/weight$/, 'bias'), [rows]);
      }
    }
    const names = layerTensorNames(family, layer);
    const norms = [
      names.attentionNorm,
      names.attentionOutputNorm,
      names.mlpNorm,
      names.mlpOutputNorm,
    ];
    for (const name of norms) if (name !== null) tensors.set(`${name}.weight`, [hiddenSize]);
    const { headDim } = atLayer(config, layer);
    const { query, key } = names.headNorms ?? {};
    if (query) tensors.set(`${query}.weight`, [headDim]);
    if (key && keysOf(config, layer) === layer) tensors.set(`${key}.weight`, [headDim]);
    if (family.varied === undefined) continue;
    const { scalar, inputs } = family.varied;
    if (scalar !== undefined) tensors.set(ofLayer(family, layer, scalar), [1]);
    if (layerInputs) tensors.set(`${ofLayer(family, layer, inputs.norm)}.weight`, [hiddenSize]);
  }
  if (layerInputs && family.varied) {
    const { embedding: table, projection, projectionNorm } = family.varied.inputs;
    const all = numLayers * layerInputs.width;
    tensors.set(`${table}.weight`, [layerInputs.vocabSize, all]);
    tensors.set(`${projection}.weight`, [all, hiddenSize]);
    tensors.set(`${projectionNorm}.weight`, [layerInputs.width]);
  }
  tensors.set(`${finalNorm}.weight`, [hiddenSize]);
  if (!config.tieWordEmbeddings) tensors.set(`${lmHead}.weight`, [vocabSize, hiddenSize]);
  return tensors;
}

function inShards(tensors: Tensors): Map<string, readonly number[]>[] {
  const shards: Map<string, readonly number[]>[] = [];
  let free = 0;
  for (const [name, dims] of tensors) {
    const bytes = byteLength(dims);
    if (bytes > free) {
      shards.push(new Map());
      free = SHARD_BYTES;
    }
    shards.at(-1)?.set(name, dims);
    free -= bytes;
  }
  return shards;
}

async function writeShard(
  path: string,
  tensors: Tensors,
  drawn: Uint8Array,
  seed: number,
): Promise<void> {
  const header: Record<string, object> = {};
  let end = 0;
  for (const [name, dims] of tensors) {
    const bytes = byteLength(dims);
    header[name] = { dtype: 'BF16', shape: dims, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = await open(path, 'w');
  try {
    await file.writev([length, text]);
    let place = (2 * 611_953 * seed) % drawn.length;
    for (const [name, dims] of tensors) {
      if (/(norm\.weight|layer_scalar)$/.test(name)) {
        await file.write(Buffer.alloc(byteLength(dims), ONE));
        continue;
      }
      await writeDrawn(file, byteLength(dims), drawn, place);
      place = (place + 2 * 1_000_003) % drawn.length;
    }
  } finally {
    await file.close();
  }
}

async function writeDrawn(
  file: FileHandle,
  bytes: number,
  drawn: Uint8Array,
  from: number,
): Promise<void> {
  let place = from;
  for (let written = 0; written < bytes;) {
    const piece = drawn.subarray(place, place + bytes - written);
    written += (await file.write(piece)).bytesWritten;
    place = (place + piece.length) % drawn.length;
  }
}

function byteLength(dims: readonly number[]): number {
  return 2 * dims.reduce((product, dim) => product * dim, 1);
}

function digits(number: number): string {
  return String(number).padStart(5, '0');
}

/** Bell-shaped, of standard deviation 0.02. */
async function drawnBytes(): Promise<Uint8Array> {
  const values = await new RandomWeights(1).get('drawn', [DRAWN]);
  const bits = new Uint32Array(values.buffer);
  const halves = Uint16Array.from(bits, (word) => word >>> 16);
  return new Uint8Array(halves.buffer);
}
