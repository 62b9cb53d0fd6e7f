/** Writes GGUF version 3, as far as a Llama model needs it. */
import { open } from 'node:fs/promises';

const ALIGNMENT = 32;

export type GgufValue =
  | { readonly uint32: number }
  | { readonly float32: number }
  | { readonly string: string }
  | { readonly strings: readonly string[] }
  | { readonly float32s: readonly number[] }
  | { readonly int32s: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  /** Rows and columns, or the length of a vector. */
  readonly shape: readonly number[];
  /** ggml's number of the element type. */
  readonly type: number;
  readonly byteLength: number;
  readonly load: () => Promise<Uint8Array>;
}

/** Numbers of value types in the format. */
const TYPE = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;

class Bytes {
  readonly #chunks: Buffer[] = [];

  uint32(value: number): void {
    const chunk = Buffer.alloc(4);
    chunk.writeUInt32LE(value);
    this.#chunks.push(chunk);
  }

  uint64(value: number): void {
    const chunk = Buffer.alloc(8);
    chunk.writeBigUInt64LE(BigInt(value));
    this.#chunks.push(chunk);
  }

  string(text: string): void {
    const chunk = Buffer.from(text);
    this.uint64(chunk.length);
    this.#chunks.push(chunk);
  }

  numbers(array: Float32Array | Int32Array): void {
    this.#chunks.push(Buffer.from(array.buffer, array.byteOffset, array.byteLength));
  }

  padded(alignment: number): Buffer {
    const all = Buffer.concat(this.#chunks);
    return Buffer.concat([all, Buffer.alloc(padding(all.length, alignment))]);
  }
}

/** Tensors are loaded one at a time. */
export async function writeGguf(
  path: string,
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.write(header(metadata, tensors));
    for (const { name, byteLength, load } of tensors) {
      const bytes = await load();
      if (bytes.byteLength !== byteLength) throw new Error(`${name} has ${bytes.byteLength} bytes`);
      await file.write(bytes);
      await file.write(Buffer.alloc(padding(byteLength, ALIGNMENT)));
    }
  } finally {
    await file.close();
  }
}

function header(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Buffer {
  const bytes = new Bytes();
  bytes.uint32(Buffer.from('GGUF').readUInt32LE());
  bytes.uint32(3);
  bytes.uint64(tensors.length);
  bytes.uint64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    bytes.string(key);
    writeValue(bytes, value);
  }
  let offset = 0;
  for (const { name, shape, type, byteLength } of tensors) {
    bytes.string(name);
    bytes.uint32(shape.length);
    // The fastest dimension comes first.
    for (const size of shape.toReversed()) bytes.uint64(size);
    bytes.uint32(type);
    bytes.uint64(offset);
    offset += byteLength + padding(byteLength, ALIGNMENT);
  }
  return bytes.padded(ALIGNMENT);
}

function writeValue(bytes: Bytes, value: GgufValue): void {
  if ('uint32' in value) {
    bytes.uint32(TYPE.uint32);
    bytes.uint32(value.uint32);
  } else if ('float32' in value) {
    bytes.uint32(TYPE.float32);
    bytes.numbers(Float32Array.of(value.float32));
  } else if ('string' in value) {
    bytes.uint32(TYPE.string);
    bytes.string(value.string);
  } else if ('strings' in value) {
    arrayHeader(bytes, TYPE.string, value.strings.length);
    for (const text of value.strings) bytes.string(text);
  } else if ('float32s' in value) {
    arrayHeader(bytes, TYPE.float32, value.float32s.length);
    bytes.numbers(Float32Array.from(value.float32s));
  } else {
    arrayHeader(bytes, TYPE.int32, value.int32s.length);
    bytes.numbers(Int32Array.from(value.int32s));
  }
}

function arrayHeader(bytes: Bytes, elementType: number, length: number): void {
  bytes.uint32(TYPE.array);
  bytes.uint32(elementType);
  bytes.uint64(length);
}

function padding(length: number, alignment: number): number {
  return (alignment - (length % alignment)) % alignment;
}
