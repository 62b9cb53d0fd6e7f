import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { readPieces, readRange } from '../file-range.ts';
import { requireFinite } from '../huggingface/finite.ts';
import { ModelError } from '../model-error.ts';
import { DEQUANTIZE } from './dequantize.ts';
import { type GgufTensor, readGgufHeader } from './gguf-header.ts';
import { ggufParts } from './gguf-names.ts';
import type { GgufMetadata } from './metadata.ts';

/** Values read at a time, about: a multiple of every block's. */
const PIECE_VALUES = 2 ** 20;

/** A part of a tensor that is read by itself; of whole rows. */
export interface TensorPart {
  /** Values before it. */
  readonly first: number;
  readonly shape: readonly number[];
}

interface Located extends GgufTensor {
  readonly file: FileHandle;
  readonly path: string;
}

/** An open GGUF model, of one file or several: metadata, and tensors that are read on demand. */
export class GgufFile {
  /** Absolute paths, in order. */
  readonly paths: readonly string[];
  /** Metadata of the first file. */
  readonly metadata: GgufMetadata;
  /** SHA-256 of the first file's header, in hex. */
  readonly hash: string;
  readonly #files: readonly FileHandle[];
  readonly #tensors: ReadonlyMap<string, Located>;

  private constructor(
    paths: readonly string[],
    files: readonly FileHandle[],
    first: Pick<GgufFile, 'metadata' | 'hash'>,
    tensors: ReadonlyMap<string, Located>,
  ) {
    this.paths = paths;
    this.metadata = first.metadata;
    this.hash = first.hash;
    this.#files = files;
    this.#tensors = tensors;
  }

  /**
   * Opens a model and checks all of its headers.
   * @param path of its file, or of one of its parts
   * @throws {ModelError} if a file is missing, damaged, or no part of the same model
   */
  static async open(path: string): Promise<GgufFile> {
    const paths = ggufParts(basename(path)).map((name) => join(dirname(path), name));
    if (paths.length > MODEL_LIMITS.ggufParts) {
      throw new ModelError(
        `${path} is one of ${paths.length} files, and the limit is ${MODEL_LIMITS.ggufParts}`,
      );
    }
    const files: FileHandle[] = [];
    try {
      const tensors = new Map<string, Located>();
      let first: Pick<GgufFile, 'metadata' | 'hash'> | undefined;
      for (const [index, part] of paths.entries()) {
        const file = await openFile(part, paths.length);
        files.push(file);
        const header = await readGgufHeader(file, part);
        requirePart(header.metadata, part, index, paths.length);
        for (const [name, tensor] of header.tensors) {
          const other = tensors.get(name);
          if (other) throw new ModelError(`tensor "${name}" is in both ${other.path} and ${part}`);
          tensors.set(name, { ...tensor, file, path: part });
        }
        first ??= header;
      }
      if (first === undefined)
        throw new ModelError(`${path} is part of a split model, but says that it has 0 parts`);
      return new GgufFile(paths, files, first, tensors);
    } catch (error) {
      await closeAll(files);
      throw error;
    }
  }

  /** Undefined where there is no such tensor. */
  tensor(name: string): GgufTensor | undefined {
    return this.#tensors.get(name);
  }

  /** @throws {ModelError} if there is no such tensor, or it has another shape */
  requireShape(name: string, expected: readonly number[]): GgufTensor {
    const tensor = this.#tensors.get(name);
    const [path = ''] = this.paths;
    if (tensor === undefined) throw new ModelError(`${path} has no tensor "${name}"`);
    if (isSame(tensor.shape, expected)) return tensor;
    throw new ModelError(
      `${path}: tensor "${name}" has shape [${tensor.shape.join(', ')}], ` +
        `expected [${expected.join(', ')}]`,
    );
  }

  names(): Iterable<string> {
    return this.#tensors.keys();
  }

  /** Whether any layer has a tensor of that name: not all of them have the same parts. */
  isInLayers(name: string): boolean {
    return [...this.names()].some((each) => each.endsWith(`.${name}`));
  }

  tensors(): Iterable<GgufTensor> {
    return this.#tensors.values();
  }

  /**
   * A tensor's blocks.
   * @param part where that is all that is wanted
   * @throws {ModelError} if there is no such tensor, or the file changed
   */
  async bytes(name: string, part: TensorPart | null = null): Promise<Uint8Array<ArrayBuffer>> {
    const { file, offset, byteLength } = this.#require(name, part);
    const bytes = new Uint8Array(byteLength);
    await readRange(file, offset, bytes, this.describe(name));
    return bytes;
  }

  /**
   * A matrix's blocks in pieces of whole rows. Each piece is valid until the next is asked for.
   * @param numRows of the matrix
   * @throws {ModelError} as `bytes`
   */
  async *rowPieces(name: string, numRows: number, part: TensorPart | null = null) {
    const { file, offset, byteLength, type } = this.#require(name, part);
    const rowBytes = byteLength / numRows;
    const width = (rowBytes / type.blockBytes) * type.blockSize;
    const rows = Math.max(1, Math.floor(PIECE_VALUES / width));
    const range = { offset, byteLength };
    for await (const bytes of readPieces(file, range, rows * rowBytes, this.describe(name))) {
      yield { bytes, rows: bytes.byteLength / rowBytes };
    }
  }

  /**
   * A tensor's values as float32, row by row.
   * @param part as in `bytes`
   * @throws {ModelError} if there is no such tensor, or the file changed
   */
  async read(name: string, part: TensorPart | null = null): Promise<Float32Array> {
    const floats = this.#floats(name, part);
    const values = new Float32Array(floats.numValues);
    let first = 0;
    for await (const bytes of floats.read(PIECE_VALUES)) {
      const end = first + floats.valuesIn(bytes);
      floats.dequantize(bytes, values.subarray(first, end), first);
      first = end;
    }
    return values;
  }

  /**
   * Reads a tensor as `read` does, in pieces of whole rows. Each piece is valid until the next is asked
   * for.
   * @throws {ModelError} as `read`
   */
  async *pieces(name: string, part: TensorPart | null = null): AsyncGenerator<Float32Array, void> {
    const floats = this.#floats(name, part);
    const width = floats.numValues / (this.#require(name, part).shape[0] || 1);
    const rows = Math.max(1, Math.floor(PIECE_VALUES / width));
    const values = new Float32Array(Math.min(floats.numValues, rows * width));
    let first = 0;
    for await (const bytes of floats.read(values.length)) {
      const piece = values.subarray(0, floats.valuesIn(bytes));
      floats.dequantize(bytes, piece, first);
      yield piece;
      first += piece.length;
    }
  }

  /** Name of a tensor in errors. */
  describe(name: string): string {
    return `${this.#tensors.get(name)?.path ?? this.paths[0]}: tensor "${name}"`;
  }

  async close(): Promise<void> {
    await closeAll(this.#files);
  }

  /** How to read a tensor's values; of whole rows, which are whole blocks. */
  #floats(name: string, part: TensorPart | null) {
    const { file, offset, byteLength, type, shape } = this.#require(name, part);
    const { blockBytes, blockSize } = type;
    const dequantize = DEQUANTIZE[type.name];
    if (dequantize === undefined) throw new TypeError(`${type.name} has no values`);
    const what = this.describe(name);
    return {
      /** @param first place of the values @throws {ModelError} if one is not finite */
      dequantize(bytes: Uint8Array<ArrayBuffer>, target: Float32Array, first: number): void {
        dequantize(bytes, target);
        requireFinite(target, { what, shape, first });
      },
      numValues: (byteLength / blockBytes) * blockSize,
      valuesIn: (bytes: Uint8Array) => (bytes.byteLength / blockBytes) * blockSize,
      read: (numValues: number) =>
        readPieces(file, { offset, byteLength }, (numValues / blockSize) * blockBytes, what),
    };
  }

  #require(name: string, part: TensorPart | null): Located {
    const tensor = this.#tensors.get(name);
    if (tensor === undefined) {
      throw new ModelError(`tensor "${name}" is missing from ${this.paths.join(', ')}`);
    }
    if (part === null) return tensor;
    const { blockBytes, blockSize } = tensor.type;
    const { first, shape } = part;
    // Rows are whole blocks, and so is what has several of them.
    const bytesOf = (values: number) => (values / blockSize) * blockBytes;
    const byteLength = bytesOf(shape.reduce((product, size) => product * size, 1));
    return { ...tensor, shape, byteLength, offset: tensor.offset + bytesOf(first) };
  }
}

/** To ggml a matrix of one row is a vector. */
function isSame(shape: readonly number[], [first, ...others]: readonly number[]): boolean {
  const own = shape.join();
  return own === [first, ...others].join() || (first === 1 && own === others.join());
}

async function closeAll(files: readonly FileHandle[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

async function openFile(path: string, count: number): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (count > 1 && isMissing(error)) {
      throw new ModelError(
        `${path} is missing: the model has ${count} files, which must all be in one folder`,
        { cause: error },
      );
    }
    throw new ModelError(`${path} cannot be opened`, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Parts number themselves from 0. */
function requirePart(metadata: GgufMetadata, path: string, index: number, count: number): void {
  const stated = metadata.number('split.count') ?? 0;
  if (Math.max(stated, 1) !== count) {
    throw new ModelError(
      `${path} says that it is one of ${stated} files, and its name says ${count}: ` +
        'the parts of a model are named like name-00001-of-00003.gguf',
    );
  }
  const number = metadata.number('split.no') ?? 0;
  if (number !== index) {
    throw new ModelError(
      `${path} says that it is part ${number + 1}, but its name says part ${index + 1}`,
    );
  }
}
