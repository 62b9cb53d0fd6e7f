/** Writes GGUF files, right and wrong. */
import { open } from 'node:fs/promises';

export type Value =
  | { readonly type: 'uint8' | 'uint32' | 'int32' | 'float32' | 'uint64'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'float32s' | 'int32s'; readonly value: readonly number[] };

export interface Tensor {
  readonly name: string;
  /** The slowest dimension first. */
  readonly shape: readonly number[];
  /** ggml's number. */
  readonly type: number;
  readonly bytes: Uint8Array;
}

const ALIGNMENT = 32;
const TYPES = {
  uint8: 0,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  uint64: 10,
} as const;

export const text = (value: string): Value => ({ type: 'string', value });
export const texts = (value: readonly string[]): Value => ({ type: 'strings', value });
export const uint = (value: number): Value => ({ type: 'uint32', value });
export const int = (value: number): Value => ({ type: 'int32', value });
export const float = (value: number): Value => ({ type: 'float32', value });
export const bool = (value: boolean): Value => ({ type: 'bool', value });
export const int32s = (value: readonly number[]): Value => ({ type: 'int32s', value });
export const float32s = (value: readonly number[]): Value => ({ type: 'float32s', value });

/** A tensor of float32. */
export function float32Tensor(
  name: string,
  shape: readonly number[],
  values: Float32Array,
): Tensor {
  return { name, shape, type: 0, bytes: new Uint8Array(values.slice().buffer) };
}

export function ggufBytes(
  metadata: Readonly<Record<string, Value>>,
  tensors: readonly Tensor[] = [],
): Buffer {
  const sized = tensors.map((tensor) => ({ ...tensor, byteLength: tensor.bytes.length }));
  const data = tensors.map(({ bytes }) => filled(bytes));
  return Buffer.concat([headerOf(metadata, sized).bytes, ...data]);
}

/** A tensor of zeros but for some bytes. */
export interface SparseTensor extends Omit<Tensor, 'bytes'> {
  readonly byteLength: number;
  /** By place in the tensor. */
  readonly pieces: ReadonlyMap<number, Uint8Array>;
}

/** Writes a file whose zeros take no place on the disk. */
export async function writeSparseGguf(
  path: string,
  metadata: Readonly<Record<string, Value>>,
  tensors: readonly SparseTensor[],
): Promise<void> {
  const { bytes, offsets, dataBytes } = headerOf(metadata, tensors);
  const file = await open(path, 'w');
  try {
    await file.write(bytes);
    for (const [index, { pieces }] of tensors.entries()) {
      const start = bytes.length + (offsets[index] ?? 0);
      for (const [at, piece] of pieces) await file.write(piece, 0, piece.length, start + at);
    }
    await file.truncate(bytes.length + dataBytes);
  } finally {
    await file.close();
  }
}

type Sized = Omit<SparseTensor, 'pieces'>;

function headerOf(metadata: Readonly<Record<string, Value>>, tensors: readonly Sized[]) {
  const parts = [Buffer.from('GGUF'), u32(3), u64(tensors.length)];
  parts.push(u64(Object.keys(metadata).length));
  for (const [key, value] of Object.entries(metadata)) parts.push(string(key), valueBytes(value));
  const offsets: number[] = [];
  let dataBytes = 0;
  for (const { name, shape, type, byteLength } of tensors) {
    parts.push(string(name), u32(shape.length));
    for (const size of shape.toReversed()) parts.push(u64(size));
    parts.push(u32(type), u64(dataBytes));
    offsets.push(dataBytes);
    dataBytes += padded(byteLength);
  }
  return { bytes: filled(Buffer.concat(parts)), offsets, dataBytes };
}

function valueBytes(value: Value): Buffer {
  switch (value.type) {
    case 'string':
      return Buffer.concat([u32(TYPES.string), string(value.value)]);
    case 'bool':
      return Buffer.concat([u32(TYPES.bool), Buffer.of(Number(value.value))]);
    case 'strings':
      return list(TYPES.string, value.value.map(string));
    case 'float32s':
      return list(TYPES.float32, value.value.map(f32));
    case 'int32s':
      return list(TYPES.int32, value.value.map(i32));
    case 'float32':
      return Buffer.concat([u32(TYPES.float32), f32(value.value)]);
    case 'uint64':
      return Buffer.concat([u32(TYPES.uint64), u64(value.value)]);
    case 'uint8':
      return Buffer.concat([u32(TYPES.uint8), Buffer.of(value.value)]);
    case 'int32':
      return Buffer.concat([u32(TYPES.int32), i32(value.value)]);
    case 'uint32':
    default:
      return Buffer.concat([u32(TYPES.uint32), u32(value.value)]);
  }
}

function list(type: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([u32(9), u32(type), u64(items.length), ...items]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

function filled(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);
}
