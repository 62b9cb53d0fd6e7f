import { TensorProto_DataType } from './onnx_pb.ts';

/** Tensor element types that the graph builder writes, by ONNX's name in lower case. */
export type ElementType =
  | 'float'
  | 'float16'
  | 'bfloat16'
  | 'uint8'
  | 'int8'
  | 'int32'
  | 'int64'
  | 'bool';

interface ElementTypeInfo {
  /** ONNX's number for the type. */
  readonly dataType: TensorProto_DataType;
  readonly bytes: number;
}

const ELEMENT_TYPES: Readonly<Record<ElementType, ElementTypeInfo>> = {
  float: { dataType: TensorProto_DataType.FLOAT, bytes: 4 },
  float16: { dataType: TensorProto_DataType.FLOAT16, bytes: 2 },
  bfloat16: { dataType: TensorProto_DataType.BFLOAT16, bytes: 2 },
  uint8: { dataType: TensorProto_DataType.UINT8, bytes: 1 },
  int8: { dataType: TensorProto_DataType.INT8, bytes: 1 },
  int32: { dataType: TensorProto_DataType.INT32, bytes: 4 },
  int64: { dataType: TensorProto_DataType.INT64, bytes: 8 },
  bool: { dataType: TensorProto_DataType.BOOL, bytes: 1 },
};

/** ONNX's number and the size in bytes of an element type. */
export function elementTypeInfo(type: ElementType): ElementTypeInfo {
  return ELEMENT_TYPES[type];
}
