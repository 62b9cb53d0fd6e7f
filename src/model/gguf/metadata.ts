import { ModelError } from '../model-error.ts';
import type { HeaderCursor } from './header-cursor.ts';

export type MetadataValue = number | boolean | string | Float64Array | StringList;

/** Texts that become strings when they are asked for: there may be half a million, which few readers of a file want. */
type StringList = () => readonly string[];

type ReadNumber = (cursor: HeaderCursor, what: string) => number;

/** Numbers of value types in the format. */
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;
const NUMBERS: ReadonlyMap<number, { readonly bytes: number; readonly read: ReadNumber }> = new Map<
  number,
  { readonly bytes: number; readonly read: ReadNumber }
>([
  [0, { bytes: 1, read: (cursor, what) => cursor.uint8(what) }],
  [1, { bytes: 1, read: (cursor, what) => cursor.int8(what) }],
  [2, { bytes: 2, read: (cursor, what) => cursor.uint16(what) }],
  [3, { bytes: 2, read: (cursor, what) => cursor.int16(what) }],
  [4, { bytes: 4, read: (cursor, what) => cursor.uint32(what) }],
  [5, { bytes: 4, read: (cursor, what) => cursor.int32(what) }],
  [6, { bytes: 4, read: (cursor, what) => cursor.float32(what) }],
  [BOOL, { bytes: 1, read: (cursor, what) => cursor.uint8(what) }],
  [10, { bytes: 8, read: (cursor, what) => cursor.uint64(what) }],
  [11, { bytes: 8, read: (cursor, what) => cursor.int64(what) }],
  [12, { bytes: 8, read: (cursor, what) => cursor.float64(what) }],
]);

/** Bytes of an empty string: its length. */
const MIN_STRING_BYTES = 8;

/**
 * Reads a value with its type before it.
 * @param what whose value, for errors
 * @throws {ModelError} if the file has not the bytes for it, or the format no such type
 */
export function readMetadataValue(cursor: HeaderCursor, what: string, path: string): MetadataValue {
  const type = cursor.uint32(what);
  if (type === STRING) return cursor.string(what);
  if (type === BOOL) return cursor.uint8(what) !== 0;
  if (type !== ARRAY) return numberOf(type, what, path).read(cursor, what);
  const elements = cursor.uint32(what);
  const length = cursor.uint64(what);
  if (elements === STRING) {
    cursor.require(length * MIN_STRING_BYTES, what);
    return cursor.strings(length, what);
  }
  const { bytes, read } = numberOf(elements, what, path);
  const start = cursor.take(length * bytes, what);
  const values = new Float64Array(length);
  cursor.position = start;
  for (let i = 0; i < length; i++) values[i] = read(cursor, what);
  return values;
}

function numberOf(type: number, what: string, path: string) {
  const number = NUMBERS.get(type);
  if (number !== undefined) return number;
  throw new ModelError(
    type === ARRAY
      ? `${path}: ${what} is an array of arrays, which is not supported`
      : `${path}: ${what} has value type ${type}, which the format does not have`,
  );
}

/** Metadata of a GGUF file, by key. */
export class GgufMetadata {
  readonly #values: ReadonlyMap<string, MetadataValue>;
  readonly #path: string;

  constructor(values: ReadonlyMap<string, MetadataValue>, path: string) {
    this.#values = values;
    this.#path = path;
  }

  /** Undefined where there is none. @throws {ModelError} if it is of another type */
  number(key: string): number | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'number') return value;
    throw this.#wrong(key, 'a number');
  }

  /** See `number`. */
  boolean(key: string): boolean | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.#wrong(key, 'true or false');
  }

  /** See `number`. */
  string(key: string): string | undefined {
    const value = this.#values.get(key);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#wrong(key, 'a text');
  }

  /** See `number`; a number by itself counts as a list of one. */
  numbers(key: string): Float64Array | undefined {
    const value = this.#values.get(key);
    if (value === undefined || value instanceof Float64Array) return value;
    if (typeof value === 'number') return Float64Array.of(value);
    throw this.#wrong(key, 'a list of numbers');
  }

  /** See `number`. */
  strings(key: string): readonly string[] | undefined {
    const value = this.#values.get(key);
    // An empty list may have been written with any type of elements.
    if (value instanceof Float64Array && value.length === 0) return [];
    if (value === undefined || typeof value === 'function') return value?.();
    throw this.#wrong(key, 'a list of texts');
  }

  /** @throws {ModelError} if there is none */
  require<T>(key: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw new ModelError(`${this.#path} has no metadata "${key}"`);
  }

  #wrong(key: string, expected: string): ModelError {
    return new ModelError(`${this.#path}: metadata "${key}" is not ${expected}`);
  }
}
