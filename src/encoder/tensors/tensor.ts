/** Tensors as they cross from the front to a model and back, with the Open Inference Protocol's types. */

const DATATYPES = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  /** IEEE half precision, as raw 16-bit patterns. */
  FP16: Uint16Array,
  /** The upper half of float32, as raw 16-bit patterns. */
  BF16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

export type NumberType = keyof typeof DATATYPES;
export type Datatype = NumberType | 'BYTES';
export type TensorData = InstanceType<(typeof DATATYPES)[NumberType]>;

interface TensorHead<D extends Datatype> {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
}

/** A dense tensor of numbers. */
export interface NumberValue extends TensorHead<NumberType> {
  readonly data: TensorData;
}

/** A dense tensor of texts, or of any other bytes. */
export interface BytesValue extends TensorHead<'BYTES'> {
  readonly data: readonly Uint8Array[];
}

export type TensorValue = NumberValue | BytesValue;

export function isDatatype(name: string): name is Datatype {
  return name === 'BYTES' || Object.hasOwn(DATATYPES, name);
}

export function bytesPerElement(datatype: NumberType): number {
  return DATATYPES[datatype].BYTES_PER_ELEMENT;
}

export function byteLengthOf(tensor: TensorValue): number {
  if (tensor.datatype !== 'BYTES') return tensor.data.byteLength;
  return tensor.data.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Bytes of all tensors together. */
export function byteLengthOfAll(tensors: readonly TensorValue[]): number {
  return tensors.reduce((sum, tensor) => sum + byteLengthOf(tensor), 0);
}

export function numElements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** An array of zeros. */
export function emptyData(datatype: NumberType, length: number): TensorData {
  return new DATATYPES[datatype](length);
}

/**
 * The elements that little-endian bytes hold.
 * @param bytes of whole elements; copied where they are not aligned
 */
export function dataFromBytes(datatype: NumberType, bytes: Uint8Array): TensorData {
  const size = bytesPerElement(datatype);
  // `slice` of a Buffer would be no copy.
  const aligned = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes);
  return new DATATYPES[datatype](
    aligned.buffer as ArrayBuffer,
    aligned.byteOffset,
    aligned.byteLength / size,
  );
}

/** Elements `start` to `end`, without a copy. */
export function slice(data: TensorData, start: number, end: number): TensorData {
  return data.subarray(start, end);
}

/** Copies elements to a place in an array of the same type. */
export function copyInto(target: TensorData, source: TensorData, offset: number): void {
  const bytes = (data: TensorData) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  bytes(target).set(bytes(source), offset * target.BYTES_PER_ELEMENT);
}
