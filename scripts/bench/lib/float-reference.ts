/**
 * A GGUF file's model in float32 whose weights are on no grid of blocks any more.
 *
 * Weights of a quantized file lie on its grid, which would favour the format that has the same. Here the
 * channels of the residual stream, of the MLPs and of the values are in another order, at random: what
 * the model computes is the same, and a block has weights of many blocks.
 */
import { open, readFile } from 'node:fs/promises';
import { GgufFile } from '../../../src/model/gguf/gguf-file.ts';
import { readGgufHeader } from '../../../src/model/gguf/gguf-header.ts';
import { HeaderCursor } from '../../../src/model/gguf/header-cursor.ts';
import { readMetadataValue } from '../../../src/model/gguf/metadata.ts';
import { Draws } from './random.ts';

const F32 = 0;
const ALIGNMENT = 32;
/** Bytes of the magic number, the version and the number of tensors. */
const COUNTS = 16;

/** By a tensor's name without its layer, whose order its rows and its columns have. */
const CHANNELS: Readonly<Record<string, readonly [rows: Channels, columns: Channels]>> = {
  token_embd: [null, 'residual'],
  output: [null, 'residual'],
  output_norm: [null, 'residual'],
  attn_norm: [null, 'residual'],
  ffn_norm: [null, 'residual'],
  post_attention_norm: [null, 'residual'],
  post_ffw_norm: [null, 'residual'],
  attn_q_norm: [null, null],
  attn_k_norm: [null, null],
  attn_q: [null, 'residual'],
  attn_k: [null, 'residual'],
  attn_v: ['values', 'residual'],
  attn_output: ['residual', 'values'],
  ffn_gate: ['mlp', 'residual'],
  ffn_up: ['mlp', 'residual'],
  ffn_down: ['residual', 'mlp'],
};
type Channels = 'residual' | 'values' | 'mlp' | null;

/**
 * Writes it.
 * @param source a file of an architecture like Llama's or Gemma 3's
 * @throws {Error} if a tensor has a name that such a model does not have
 */
export async function writeFloatReference(source: string, target: string): Promise<void> {
  const header = await tensorsOf(source);
  const metadata = await metadataBytes(source);
  const gguf = await GgufFile.open(source);
  const file = await open(target, 'w');
  try {
    const number = (key: string) =>
      gguf.metadata.number(`${gguf.metadata.string('general.architecture')}.${key}`);
    const headDim =
      number('attention.value_length') ??
      (number('embedding_length') ?? 0) / (number('attention.head_count') ?? 1);
    const entries: Buffer[] = [];
    let offset = 0;
    for (const [name, { shape }] of header) {
      entries.push(entryOf(name, shape, offset));
      offset += 4 * shape.reduce((product, size) => product * size, 1);
      offset = Math.ceil(offset / ALIGNMENT) * ALIGNMENT;
    }
    const front = Buffer.concat([metadata, ...entries]);
    const padding = (ALIGNMENT - (front.length % ALIGNMENT)) % ALIGNMENT;
    await file.write(Buffer.concat([front, Buffer.alloc(padding)]));
    const orders = new Orders(headDim);
    for (const [name, { shape }] of header) {
      const values = reordered(await gguf.read(name), name, shape, orders);
      await file.write(new Uint8Array(values.buffer));
      await file.write(Buffer.alloc((ALIGNMENT - (values.byteLength % ALIGNMENT)) % ALIGNMENT));
    }
  } finally {
    await file.close();
    await gguf.close();
  }
}

async function tensorsOf(path: string) {
  const file = await open(path);
  try {
    return (await readGgufHeader(file, path)).tensors;
  } finally {
    await file.close();
  }
}

/** The file's bytes before its table of tensors. */
async function metadataBytes(path: string): Promise<Buffer> {
  const bytes = await readFile(path);
  const cursor = new HeaderCursor(bytes, bytes.length, path);
  cursor.take(COUNTS, 'its counts');
  const numPairs = cursor.uint64('the number of metadata keys');
  for (let i = 0; i < numPairs; i++) {
    readMetadataValue(cursor, cursor.string('a metadata key'), path);
  }
  return bytes.subarray(0, cursor.position);
}

function entryOf(name: string, shape: readonly number[], offset: number): Buffer {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(name) + 4 + 8 * shape.length + 12);
  let at = bytes.writeBigUInt64LE(BigInt(Buffer.byteLength(name)));
  at += bytes.write(name, at);
  at = bytes.writeUInt32LE(shape.length, at);
  for (const size of shape.toReversed()) at = bytes.writeBigUInt64LE(BigInt(size), at);
  at = bytes.writeUInt32LE(F32, at);
  bytes.writeBigUInt64LE(BigInt(offset), at);
  return bytes;
}

/** Random orders of channels, each drawn once. */
class Orders {
  readonly #headDim: number;
  readonly #known = new Map<string, Uint32Array>();
  readonly #draws = new Draws(1);

  constructor(headDim: number) {
    this.#headDim = headDim;
  }

  /** By place, the channel that comes there; values stay in their head, the same in each. */
  of(channels: Channels, layer: string, size: number): Uint32Array | null {
    if (channels === null) return null;
    if (channels === 'values') {
      const inHead = this.#order(`values ${layer}`, this.#headDim);
      return Uint32Array.from({ length: size }, (_, at) => {
        const within = at % this.#headDim;
        return at - within + (inHead[within] ?? 0);
      });
    }
    return this.#order(channels === 'residual' ? channels : `${channels} ${layer}`, size);
  }

  #order(key: string, size: number): Uint32Array {
    let order = this.#known.get(key);
    if (order === undefined) {
      order = Uint32Array.from({ length: size }, (_, at) => at);
      for (let last = size - 1; last > 0; last--) {
        const other = this.#draws.integer(last + 1);
        [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
      }
      this.#known.set(key, order);
    }
    return order;
  }
}

function reordered(
  values: Float32Array,
  name: string,
  shape: readonly number[],
  orders: Orders,
): Float32Array {
  const parts = name.split('.');
  const channels = CHANNELS[parts.at(-2) ?? ''];
  if (channels === undefined) throw new Error(`${name} is no tensor of such a model`);
  const layer = parts.length > 2 ? (parts[1] ?? '') : '';
  const [columns = 1, rows = 1] = shape.toReversed();
  const rowOrder = orders.of(channels[0], layer, rows);
  const columnOrder = orders.of(channels[1], layer, columns);
  const target = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const from = (rowOrder?.[row] ?? row) * columns;
    for (let at = 0; at < columns; at++) {
      target[row * columns + at] = values[from + (columnOrder?.[at] ?? at)] ?? 0;
    }
  }
  return target;
}
