/** Tensor element types: ONNX's value for each, its size, and the typed array that holds it. */
const ELEMENT_TYPES = {
  float: { value: 1, bytes: 4, array: Float32Array },
  uint8: { value: 2, bytes: 1, array: Uint8Array },
  int8: { value: 3, bytes: 1, array: Int8Array },
  uint16: { value: 4, bytes: 2, array: Uint16Array },
  int16: { value: 5, bytes: 2, array: Int16Array },
  int32: { value: 6, bytes: 4, array: Int32Array },
  int64: { value: 7, bytes: 8, array: BigInt64Array },
  bool: { value: 9, bytes: 1, array: Uint8Array },
  /** IEEE half precision, as raw 16-bit patterns. */
  float16: { value: 10, bytes: 2, array: Uint16Array },
  double: { value: 11, bytes: 8, array: Float64Array },
  uint32: { value: 12, bytes: 4, array: Uint32Array },
  uint64: { value: 13, bytes: 8, array: BigUint64Array },
  /** The upper half of float32, as raw 16-bit patterns. */
  bfloat16: { value: 16, bytes: 2, array: Uint16Array },
} as const;

export type ElementType = keyof typeof ELEMENT_TYPES;
export type TypedArrayOf<T extends ElementType> = InstanceType<(typeof ELEMENT_TYPES)[T]['array']>;

/** ONNXTensorElementDataType's value for strings, which are in no typed array: see StringTensor. */
export const STRING_VALUE = 8;

/** ONNXTensorElementDataType's value. */
export function elementTypeValue(type: ElementType): number {
  return ELEMENT_TYPES[type].value;
}

/** The name of an ONNXTensorElementDataType value, or `undefined` for those we don't handle. */
export function elementTypeOf(value: number): ElementType | undefined {
  const names = Object.keys(ELEMENT_TYPES) as ElementType[];
  return names.find((name) => ELEMENT_TYPES[name].value === value);
}

/** Bytes that a dense tensor takes. */
export function tensorByteLength(type: ElementType, shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, ELEMENT_TYPES[type].bytes);
}

/** A typed array over memory that holds elements of `type`. */
export function typedArrayOver<T extends ElementType>(
  type: T,
  buffer: ArrayBufferLike,
  byteOffset = 0,
  length?: number,
): TypedArrayOf<T> {
  return new ELEMENT_TYPES[type].array(
    buffer as ArrayBuffer,
    byteOffset,
    length,
  ) as TypedArrayOf<T>;
}
