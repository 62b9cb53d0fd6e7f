/** Tensors of the Open Inference Protocol, whatever they came in: JSON, raw bytes or messages. */
import { LIMITS } from '../../limits.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { told } from '../../told.ts';

/** Bytes of an element of each type of numbers. */
export const NUMBER_BYTES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
} as const;

export type NumberType = keyof typeof NUMBER_BYTES;
export type Datatype = NumberType | 'BYTES';

interface TensorHead<D extends Datatype> {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
}

export interface NumberTensor extends TensorHead<NumberType> {
  /** Elements in row-major order, little-endian. */
  readonly data: Uint8Array;
}

/** Tensor of texts, or of any other bytes. */
export interface BytesTensor extends TensorHead<'BYTES'> {
  readonly data: readonly Uint8Array[];
}

export type Tensor = NumberTensor | BytesTensor;

/** Description of a model's tensor: -1 stands for any size. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export function isDatatype(datatype: string): datatype is Datatype {
  return datatype === 'BYTES' || Object.hasOwn(NUMBER_BYTES, datatype);
}

/** @throws ApiError 400 for what is no type of the protocol */
export function requireDatatype(datatype: string, name: string): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw badTensor(name, `there is no datatype \`${told(datatype, 32)}\``);
}

/**
 * Elements that a shape comes to.
 * @throws ApiError 400 for what is no shape, or more than a request can hold
 */
export function countElements(shape: readonly number[], name: string): number {
  if (shape.length > LIMITS.tensorDimensions) {
    throw badTensor(name, `its shape has more than ${LIMITS.tensorDimensions} dimensions`);
  }
  let count = 1;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) {
      throw badTensor(name, 'its shape must have whole numbers from 0 on');
    }
    count *= size;
    if (!Number.isSafeInteger(count)) throw badTensor(name, 'its shape is too large');
  }
  return count;
}

/** @throws ApiError 400 when `count` differs from the number that the shape gives */
export function requireCount(count: number, shape: readonly number[], name: string): void {
  const expected = countElements(shape, name);
  if (count === expected) return;
  throw badTensor(name, `its shape has ${expected} elements, but its data ${count}`);
}

/** Texts, and so on: each is a thing of its own. @throws ApiError 400 */
export function requireBytesCount(count: number, name: string): void {
  if (count <= LIMITS.tensorStrings) return;
  throw badTensor(name, `it has more than ${LIMITS.tensorStrings} elements of type BYTES`);
}

export function badTensor(name: string, what: string): ApiError {
  return badRequest(`Tensor \`${told(name, 64)}\`: ${what}.`, name, 'invalid_value');
}
