import type { FileHandle } from 'node:fs/promises';

import { z } from 'zod';

import { standInForBinary, START_BYTES } from '../../files/stand-in.ts';
import { ModelError } from '../model-error.ts';
import { readRange } from '../file-range.ts';

/** A tensor in a safetensors file. */
export interface TensorEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** First byte, from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Bytes of the header length that a file starts with. */
const LENGTH_BYTES = 8;

/** The format's own limit; a longer header is a sign of another format or of damage. */
const MAX_HEADER_BYTES = 100_000_000;

const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
  F8_E8M0: 1,
  F16: 2,
  BF16: 2,
  U16: 2,
  I16: 2,
  F32: 4,
  U32: 4,
  I32: 4,
  F64: 8,
  U64: 8,
  I64: 8,
};

const size = z.int().nonnegative();
const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(size),
  data_offsets: z.tuple([size, size]),
});

/**
 * Reads and checks the header of an open safetensors file: every tensor's span must fit its type
 * and shape, lie inside the file, and overlap no other.
 * @param path what to call the file in errors
 * @throws {ModelError} naming the file, and the tensor, if one is wrong
 */
export async function readSafetensorsHeader(
  file: FileHandle,
  path: string,
): Promise<Map<string, TensorEntry>> {
  const { size: fileSize } = await file.stat();
  const start = Buffer.alloc(Math.min(START_BYTES, fileSize));
  await readRange(file, 0, start, path);
  const other = standInForBinary(start);
  if (other !== null) throw new ModelError(`${path} ${other}`);
  const prefix = start.subarray(0, LENGTH_BYTES);
  const header = Buffer.alloc(safetensorsHeaderBytes(prefix, fileSize, path));
  await readRange(file, LENGTH_BYTES, header, path);
  return parseSafetensorsHeader(header, fileSize, path);
}

/**
 * Length of the header of a file that begins with these bytes.
 * @throws {ModelError} as readSafetensorsHeader
 */
export function safetensorsHeaderBytes(prefix: Buffer, fileSize: number, path: string): number {
  if (fileSize < LENGTH_BYTES) {
    throw new ModelError(`${path} is not a safetensors file: it has only ${fileSize} bytes`);
  }
  const length = Number(prefix.readBigUInt64LE());
  if (length > MAX_HEADER_BYTES) {
    throw new ModelError(`${path} is not a safetensors file: its header length is ${length} bytes`);
  }
  if (LENGTH_BYTES + length > fileSize) {
    throw new ModelError(
      `${path} is truncated: its header takes ${length} bytes, but the file has ${fileSize}`,
    );
  }
  return length;
}

/** @param header without its length @throws {ModelError} as readSafetensorsHeader */
export function parseSafetensorsHeader(
  header: Uint8Array,
  fileSize: number,
  path: string,
): Map<string, TensorEntry> {
  const dataStart = LENGTH_BYTES + header.length;
  const entries = new Map<string, TensorEntry>();
  for (const [name, value] of parseObject(header, path)) {
    if (name === '__metadata__') {
      continue;
    }
    entries.set(name, checkEntry(value, dataStart, fileSize, `${path}: tensor "${name}"`));
  }
  rejectOverlaps(entries, path);
  return entries;
}

function parseObject(bytes: Uint8Array, path: string): [string, unknown][] {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ModelError(`${path}: the safetensors header is not JSON`, { cause: error });
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw new ModelError(`${path}: the safetensors header is not a JSON object`);
  }
  return Object.entries(header);
}

function checkEntry(
  value: unknown,
  dataStart: number,
  fileSize: number,
  what: string,
): TensorEntry {
  const parsed = entrySchema.safeParse(value);
  if (!parsed.success) {
    throw new ModelError(`${what} has no valid dtype, shape and data_offsets`);
  }
  const { dtype, shape, data_offsets: offsets } = parsed.data;
  const elementBytes = ELEMENT_BYTES[dtype];
  if (elementBytes === undefined) {
    throw new ModelError(`${what} has the unknown dtype "${dtype}"`);
  }
  const [begin, end] = offsets;
  const expected = shape.reduce((product, dim) => product * dim, elementBytes);
  if (end - begin !== expected) {
    throw new ModelError(
      `${what} spans ${end - begin} bytes, but ${dtype} [${shape.join(', ')}] takes ${expected}`,
    );
  }
  if (dataStart + end > fileSize) {
    throw new ModelError(
      `${what} ends at byte ${dataStart + end}, but the file has ${fileSize}: it is truncated`,
    );
  }
  return { dtype, shape, offset: dataStart + begin, byteLength: expected };
}

function rejectOverlaps(entries: ReadonlyMap<string, TensorEntry>, path: string): void {
  const sorted = [...entries].sort(([, a], [, b]) => a.offset - b.offset);
  let previous: { name: string; end: number } | undefined;
  for (const [name, { offset, byteLength }] of sorted) {
    if (byteLength === 0) {
      continue;
    }
    if (previous !== undefined && offset < previous.end) {
      throw new ModelError(`${path}: tensors "${previous.name}" and "${name}" overlap`);
    }
    previous = { name, end: offset + byteLength };
  }
}
