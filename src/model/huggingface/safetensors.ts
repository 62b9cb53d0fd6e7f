import { open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { z } from 'zod';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { ModelError } from '../model-error.ts';
import { readPieces, readRange } from '../file-range.ts';
import { type FloatDtype, requireStoredFinite } from './finite.ts';
import { readJson } from './json-file.ts';
import { readSafetensorsHeader, type TensorEntry } from './safetensors-header.ts';
import { STORED_FLOATS } from './stored-floats.ts';
import { textModelTensor } from './text-config.ts';
import type { WeightSource } from './weights.ts';

/** Values read at a time, about. */
const PIECE_VALUES = 2 ** 20;

interface Located extends TensorEntry {
  readonly file: FileHandle;
  readonly path: string;
  /** Place of a part in its tensor. */
  readonly firstValue?: number;
}

const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

export const SINGLE_FILE = 'model.safetensors';
export const SHARD_INDEX = 'model.safetensors.index.json';

/**
 * The safetensors files that hold a checkpoint's weights: one, or those that an index names, in order.
 * @param folder with the index, if there is one
 * @param names of the checkpoint's files
 * @returns absolute paths; none where there are no such weights
 * @throws {ModelError} if the index cannot be read, or names what is not a file in its folder
 * @throws {UntrustedPathError} if it names a file outside its folder
 */
export async function weightFiles(folder: string, names: readonly string[]): Promise<string[]> {
  if (names.includes(SINGLE_FILE)) return [join(folder, SINGLE_FILE)];
  return names.includes(SHARD_INDEX) ? readShardIndex(join(folder, SHARD_INDEX)) : [];
}

async function readShardIndex(indexPath: string): Promise<string[]> {
  const parsed = indexSchema.safeParse(await readJson(indexPath));
  if (!parsed.success) {
    throw new ModelError(`${indexPath} has no "weight_map" of tensor names to file names`);
  }
  const names = [...new Set(Object.values(parsed.data.weight_map))].sort();
  const paths = names.map((name) => joinUntrusted(dirname(indexPath), name, indexPath));
  const other = names.find((name) => !/^[^/]+\.safetensors$/.test(name));
  if (other !== undefined) {
    throw new ModelError(
      `${indexPath} names "${other}", which is not a safetensors file in its folder`,
    );
  }
  return paths;
}

/**
 * The tensors of one or several safetensors files, read on demand. Those of a multimodal model's text
 * model go by the names that they would have without the rest.
 */
export class SafetensorsWeights implements WeightSource {
  readonly #files = new Map<string, FileHandle>();
  readonly #tensors = new Map<string, Located>();

  /**
   * Opens the files and checks their headers.
   * @throws {ModelError} if a file is missing or damaged, or two files hold the same tensor
   */
  static async open(paths: readonly string[]): Promise<SafetensorsWeights> {
    const weights = new SafetensorsWeights();
    try {
      for (const path of paths) {
        await weights.#add(path);
      }
    } catch (error) {
      await weights.close();
      throw error;
    }
    return weights;
  }

  has(name: string): boolean {
    return this.#tensors.has(name);
  }

  names(): Iterable<string> {
    return this.#tensors.keys();
  }

  /** Header entry of a tensor. */
  entry(name: string): TensorEntry | undefined {
    return this.#tensors.get(name);
  }

  typeOf(name: string): string | null {
    return this.#tensors.get(name)?.dtype ?? null;
  }

  /** A tensor's bytes. @throws {ModelError} if there is no such tensor */
  async bytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const tensor = this.#require(name);
    const bytes = new Uint8Array(tensor.byteLength);
    await readRange(tensor.file, tensor.offset, bytes, `${tensor.path}: tensor "${name}"`);
    return bytes;
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    return readFloats(this.#requireShape(name, shape), this.describe(name));
  }

  async *pieces(name: string, shape: readonly number[]): AsyncGenerator<Float32Array, void> {
    const floats = floatsOf(this.#requireShape(name, shape), this.describe(name));
    const width = floats.numValues / (shape[0] || 1);
    const rows = Math.max(1, Math.floor(PIECE_VALUES / width));
    const values = new Float32Array(Math.min(floats.numValues, rows * width));
    let first = 0;
    for await (const bytes of floats.read(values.length)) {
      const piece = values.subarray(0, bytes.byteLength / floats.elementBytes);
      floats.convert(bytes, piece, first);
      yield piece;
      first += piece.length;
    }
  }

  /**
   * One of the tensors that a tensor is made of.
   * @param shape of all of them, [count, ...]
   */
  async part(name: string, shape: readonly number[], index: number): Promise<Float32Array> {
    return readFloats(this.#part(name, shape, index), this.describe(name));
  }

  /** Bytes of one of the tensors that a tensor of bytes is made of. */
  async bytesOfPart(
    name: string,
    shape: readonly number[],
    index: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const part = this.#part(name, shape, index);
    if (part.dtype !== 'U8') {
      throw new ModelError(`${this.describe(name)} has dtype ${part.dtype}, expected U8`);
    }
    const bytes = new Uint8Array(part.byteLength);
    await readRange(part.file, part.offset, bytes, this.describe(name));
    return bytes;
  }

  /**
   * Gives the tensors that a tensor is made of names of their own.
   * @param names one for each
   * @throws {ModelError} if there are more or fewer
   */
  nameParts(name: string, names: readonly string[]): void {
    const { shape } = this.#require(name);
    const [count, ...inner] = shape;
    if (count !== names.length) {
      throw new ModelError(
        `${this.describe(name)} has shape [${shape.join(', ')}], expected ${names.length} matrices`,
      );
    }
    for (const [index, each] of names.entries()) {
      this.#tensors.set(each, { ...this.#part(name, shape, index), shape: inner });
    }
  }

  /** Name of a tensor in errors. */
  describe(name: string): string {
    return `${this.#require(name).path}: tensor "${name}"`;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.close()));
  }

  #part(name: string, shape: readonly number[], index: number): Located {
    const tensor = this.#requireShape(name, shape);
    const [count = 1, ...inner] = shape;
    const byteLength = tensor.byteLength / count;
    const firstValue = index * inner.reduce((product, size) => product * size, 1);
    return { ...tensor, byteLength, offset: tensor.offset + index * byteLength, firstValue };
  }

  #requireShape(name: string, shape: readonly number[]): Located {
    const tensor = this.#require(name);
    if (tensor.shape.join() === shape.join()) return tensor;
    throw new ModelError(
      `${this.describe(name)} has shape [${tensor.shape.join(', ')}], expected [${shape.join(', ')}]`,
    );
  }

  #require(name: string): Located {
    const tensor = this.#tensors.get(name);
    if (tensor !== undefined) return tensor;
    throw new ModelError(`tensor "${name}" is missing from ${[...this.#files.keys()].join(', ')}`);
  }

  async #add(path: string): Promise<void> {
    const file = await openFile(path);
    this.#files.set(path, file);
    for (const [stored, entry] of await readSafetensorsHeader(file, path)) {
      const name = textModelTensor(stored);
      const other = this.#tensors.get(name);
      if (other !== undefined) {
        throw new ModelError(`tensor "${name}" is in both ${other.path} and ${path}`);
      }
      this.#tensors.set(name, { ...entry, file, path });
    }
  }
}

/** How to read a tensor of floats. @param what to call it in errors */
function floatsOf(tensor: Located, what: string) {
  const { file, offset, byteLength, dtype, shape, firstValue = 0 } = tensor;
  if (!isFloat(dtype)) {
    throw new ModelError(
      `${what} has dtype ${dtype}, supported: ${Object.keys(STORED_FLOATS).join(', ')}`,
    );
  }
  const { elementBytes, convert } = STORED_FLOATS[dtype];
  return {
    elementBytes,
    /** @param first place of the chunk @throws {ModelError} if a value is not finite */
    convert(bytes: Uint8Array<ArrayBuffer>, target: Float32Array, first: number): void {
      convert(bytes, target);
      requireStoredFinite(bytes, dtype, target, { what, shape, first: firstValue + first });
    },
    numValues: byteLength / elementBytes,
    read: (numValues: number) =>
      readPieces(file, { offset, byteLength }, numValues * elementBytes, what),
  };
}

function isFloat(dtype: string): dtype is FloatDtype {
  return Object.hasOwn(STORED_FLOATS, dtype);
}

async function readFloats(tensor: Located, what: string): Promise<Float32Array> {
  const floats = floatsOf(tensor, what);
  const values = new Float32Array(floats.numValues);
  let first = 0;
  for await (const bytes of floats.read(PIECE_VALUES)) {
    const end = first + bytes.byteLength / floats.elementBytes;
    floats.convert(bytes, values.subarray(first, end), first);
    first = end;
  }
  return values;
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw new ModelError(`${path} cannot be opened`, { cause: error });
  }
}
