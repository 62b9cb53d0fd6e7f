import { ort, type Pointer } from './api.ts';

/**
 * Describes a tensor that ONNX Runtime made.
 * @returns ONNXTensorElementDataType's value, and the sizes
 */
export function describeTensor(pointer: Pointer): { elementType: number; shape: number[] } {
  const { api } = ort();
  const info = api.GetTensorTypeAndShape(pointer);
  try {
    const sizes = new BigInt64Array(api.GetDimensionsCount(info));
    if (sizes.length > 0) api.GetDimensions(info, sizes, sizes.length);
    return { elementType: api.GetTensorElementType(info), shape: Array.from(sizes, Number) };
  } finally {
    api.ReleaseTensorTypeAndShapeInfo(info);
  }
}

/** A shape as the API takes it. */
export function dimensions(shape: readonly number[]): BigInt64Array {
  // One element at least: koffi has no address for an empty array, and a scalar has no dimensions.
  const array = new BigInt64Array(Math.max(1, shape.length));
  shape.forEach((dimension, index) => (array[index] = BigInt(dimension)));
  return array;
}
