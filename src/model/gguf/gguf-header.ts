import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

import { standInForBinary } from '../../files/stand-in.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { readRange } from '../file-range.ts';
import { ModelError } from '../model-error.ts';
import { HeaderCursor, NeedsMoreBytes } from './header-cursor.ts';
import { GgufMetadata, type MetadataValue, readMetadataValue } from './metadata.ts';
import { tensorType, type TensorType } from './tensor-types.ts';

/** First bytes of a GGUF file. */
export const MAGIC = 'GGUF';

/** A tensor in a GGUF file. */
export interface GgufTensor {
  readonly type: TensorType;
  /** The slowest dimension first, as in safetensors. */
  readonly shape: readonly number[];
  /** First byte, from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Content of a GGUF file before its weights. */
export interface GgufHeader {
  readonly metadata: GgufMetadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** SHA-256 of all of this, in hex. */
  readonly hash: string;
}

/** A tensor as the file states it, before its place is checked. */
interface TensorEntry {
  readonly name: string;
  readonly type: TensorType;
  readonly shape: readonly number[];
  /** From the start of the weights. */
  readonly start: number;
  readonly byteLength: number;
}

const VERSIONS = [2, 3];
const DEFAULT_ALIGNMENT = 32;
const MAX_ALIGNMENT = 2 ** 16;
/** The format's own limit. */
const MAX_DIMENSIONS = 4;
/** Bytes of the smallest key with a value: a string's length, a type and a byte. */
const MIN_PAIR_BYTES = 13;
/** Bytes of the smallest tensor entry: a string's length, the rank, one dimension, type, offset. */
const MIN_ENTRY_BYTES = 32;
/** Bytes that are read at first; small headers fit. */
const FIRST_READ = 2 ** 20;

/**
 * Reads and checks the header of an open GGUF file: no count, length or offset is believed before the
 * file has the bytes for it, every tensor's span must lie inside the file, and none overlap.
 * @param path what to call the file in errors
 * @throws {ModelError} naming the file, and what in it is wrong
 */
export async function readGgufHeader(file: FileHandle, path: string): Promise<GgufHeader> {
  const { size } = await file.stat();
  const most = Math.min(size, MODEL_LIMITS.ggufHeaderBytes);
  for (let length = Math.min(FIRST_READ, most); ; length = Math.min(4 * length, most)) {
    const bytes = Buffer.allocUnsafe(length);
    await readRange(file, 0, bytes, path);
    try {
      return parseGgufHeader(bytes, size, path);
    } catch (error) {
      if (!(error instanceof NeedsMoreBytes)) throw error;
      if (length < most) continue;
      throw new ModelError(
        `${path}: metadata and tensor names take more than ${MODEL_LIMITS.ggufHeaderBytes} bytes`,
        { cause: error },
      );
    }
  }
}

/**
 * @param bytes the first of the file
 * @throws {ModelError} if it is damaged
 * @throws {NeedsMoreBytes} if the header goes on after them
 */
export function parseGgufHeader(bytes: Buffer, fileSize: number, path: string): GgufHeader {
  const cursor = new HeaderCursor(bytes, fileSize, path);
  const isCut = MAGIC.startsWith(bytes.toString('latin1', 0, 4));
  const other = isCut ? null : standInForBinary(bytes);
  if (other !== null) throw new ModelError(`${path} ${other}`);
  readVersion(cursor, path);
  const numTensors = cursor.uint64('the number of tensors');
  const numPairs = cursor.uint64('the number of metadata keys');
  cursor.require(numPairs * MIN_PAIR_BYTES, `metadata of ${numPairs} keys`);
  const values = new Map<string, MetadataValue>();
  for (let i = 0; i < numPairs; i++) {
    const key = cursor.string('a metadata key');
    if (values.has(key)) throw new ModelError(`${path} has the metadata key "${key}" twice`);
    values.set(key, readMetadataValue(cursor, `"${key}"`, path));
  }
  const metadata = new GgufMetadata(values, path);
  cursor.require(numTensors * MIN_ENTRY_BYTES, `a table of ${numTensors} tensors`);
  const entries: TensorEntry[] = [];
  for (let i = 0; i < numTensors; i++) entries.push(readEntry(cursor, path));
  const alignment = alignmentOf(metadata, path);
  const end = cursor.position;
  // A file without weights, such as the first of a split one, need not be padded.
  const dataStart = Math.min(fileSize, Math.ceil(end / alignment) * alignment);
  return {
    metadata,
    tensors: place(entries, { dataStart, fileSize, alignment, path }),
    hash: createHash('sha256').update(bytes.subarray(0, end)).digest('hex'),
  };
}

function readVersion(cursor: HeaderCursor, path: string): void {
  const magic = cursor.uint32('the magic number');
  if (magic !== Buffer.from(MAGIC).readUInt32LE()) {
    throw new ModelError(`${path} is not a GGUF file: it does not begin with "GGUF"`);
  }
  const version = cursor.uint32('the version');
  if (VERSIONS.includes(version)) return;
  const isBigEndian = version !== 0 && version % 2 ** 16 === 0;
  throw new ModelError(
    isBigEndian
      ? `${path} is a big-endian GGUF file, which is not supported`
      : `${path} has GGUF version ${version} (supported: ${VERSIONS.join(', ')})`,
  );
}

function readEntry(cursor: HeaderCursor, path: string): TensorEntry {
  const name = cursor.string('a tensor name');
  const what = `${path}: tensor "${name}"`;
  const rank = cursor.uint32('the rank of a tensor');
  if (rank === 0 || rank > MAX_DIMENSIONS) {
    throw new ModelError(`${what} has ${rank} dimensions (supported: 1 to ${MAX_DIMENSIONS})`);
  }
  const sizes = Array.from({ length: rank }, () => cursor.uint64('the shape of a tensor'));
  const type = tensorType(cursor.uint32('the type of a tensor'), what);
  const start = cursor.uint64('the place of a tensor');
  const shape = sizes.toReversed();
  const numValues = shape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(numValues) || (sizes[0] ?? 0) % type.blockSize !== 0) {
    throw new ModelError(
      `${what} has the shape [${shape.join(', ')}], which ${type.name} can't have: its rows are ` +
        `blocks of ${type.blockSize}`,
    );
  }
  return { name, type, shape, start, byteLength: (numValues / type.blockSize) * type.blockBytes };
}

function alignmentOf(metadata: GgufMetadata, path: string): number {
  const alignment = metadata.number('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo = Number.isInteger(Math.log2(alignment));
  if (isPowerOfTwo && alignment >= 1 && alignment <= MAX_ALIGNMENT) return alignment;
  throw new ModelError(
    `${path}: general.alignment is ${alignment}, expected a power of 2 up to ${MAX_ALIGNMENT}`,
  );
}

interface Weights {
  readonly dataStart: number;
  readonly fileSize: number;
  readonly alignment: number;
  readonly path: string;
}

function place(
  entries: readonly TensorEntry[],
  { dataStart, fileSize, alignment, path }: Weights,
): Map<string, GgufTensor> {
  const tensors = new Map<string, GgufTensor>();
  let previous: { readonly name: string; readonly end: number } | undefined;
  for (const { name, type, shape, start, byteLength } of entries.toSorted(byStart)) {
    const offset = dataStart + start;
    const what = `${path}: tensor "${name}"`;
    if (start % alignment !== 0) {
      throw new ModelError(`${what} begins at byte ${start}, no multiple of ${alignment}`);
    }
    if (offset + byteLength > fileSize) {
      throw new ModelError(
        `${what} ends at byte ${offset + byteLength}, but the file has ${fileSize}: it is truncated`,
      );
    }
    if (previous !== undefined && byteLength > 0 && offset < previous.end) {
      throw new ModelError(`${path}: tensors "${previous.name}" and "${name}" overlap`);
    }
    if (tensors.has(name)) throw new ModelError(`${path} has the tensor "${name}" twice`);
    if (byteLength > 0) previous = { name, end: offset + byteLength };
    tensors.set(name, { type, shape, offset, byteLength });
  }
  return tensors;
}

function byStart(a: TensorEntry, b: TensorEntry): number {
  return a.start - b.start;
}
