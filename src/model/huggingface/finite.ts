import { ModelError } from '../model-error.ts';
import { foursOf } from './fours-of.ts';

/**
 * Types of floats, by where a word of one or two of them has exponents, and by what is added to them: only
 * an exponent of ones, which NaN and infinite values have, carries into the place of the sign.
 */
const TYPES = {
  F32: { exponents: 0x7f80_0000, added: 0x0080_0000 },
  F16: { exponents: 0x7c00_7c00, added: 0x0400_0400 },
  BF16: { exponents: 0x7f80_7f80, added: 0x0080_0080 },
} as const;

export type FloatDtype = keyof typeof TYPES;

/** Signs of a word, of one float or of two. */
const SIGNS = 0x8000_8000 | 0;

/** Whether no value is NaN or infinite. @param values at a multiple of four bytes of their buffer */
export function areFinite(values: ArrayBufferView, type: FloatDtype) {
  const { exponents, added } = TYPES[type];
  const { buffer, byteOffset, byteLength } = values;
  const words = foursOf(values);
  let [a, b, c, d] = [0, 0, 0, 0];
  let i = 0;
  // Without branches, and four at a time: this looks at all weights of a model.
  for (; i < words.length - 3; i += 4) {
    a |= ((words[i] ?? 0) & exponents) + added;
    b |= ((words[i + 1] ?? 0) & exponents) + added;
    c |= ((words[i + 2] ?? 0) & exponents) + added;
    d |= ((words[i + 3] ?? 0) & exponents) + added;
  }
  for (; i < words.length; i++) a |= ((words[i] ?? 0) & exponents) + added;
  if ((byteLength & 2) !== 0) {
    const [half = 0] = new Uint16Array(buffer, byteOffset + byteLength - 2, 1);
    a |= (half & exponents) + (added & 0xffff);
  }
  return ((a | b | c | d) & SIGNS) === 0;
}

/** A tensor to check for NaN and infinity. */
export interface FiniteTensor {
  /** Name of the tensor in errors, with its file. */
  readonly what: string;
  readonly shape: readonly number[];
  /** Kind of the values that are checked; values if left out. */
  readonly kind?: 'value' | 'scale' | 'offset';
  /** Place of the first value that is looked at; 0 if left out. */
  readonly first?: number;
}

/** @throws {ModelError} naming the first value that is NaN or infinite, and its place */
export function requireFinite(values: Float32Array, tensor: FiniteTensor): void {
  if (!areFinite(values, 'F32')) refuse(values, tensor);
}

/** Checks values as they are stored. @param values the same as float32 */
export function requireStoredFinite(
  stored: ArrayBufferView,
  type: FloatDtype,
  values: Float32Array,
  tensor: FiniteTensor,
): void {
  if (!areFinite(stored, type)) refuse(values, tensor);
}

function refuse(values: Float32Array, tensor: FiniteTensor): never {
  const index = values.findIndex((value) => !Number.isFinite(value));
  throw notFinite(values, index, tensor);
}

/** Error for a value. @param index of it, among those that are looked at */
export function notFinite(
  values: Float32Array,
  index: number,
  { what, shape, kind = 'value', first = 0 }: FiniteTensor,
): ModelError {
  const place = placeIn(shape, first + index).join(', ');
  return new ModelError(
    `${what} has a ${kind} of ${values[index]} at [${place}]: ` +
      'the file is damaged, or its training has diverged',
  );
}

/** Coordinates of a value, by its place row by row. */
function placeIn(shape: readonly number[], index: number): number[] {
  const place: number[] = [];
  let rest = index;
  for (const size of shape.toReversed()) {
    place.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return place;
}
