import { create } from '@bufbuild/protobuf';

import { elementTypeInfo, type ElementType } from './element-type.ts';
import type { ExternalSpan } from './external-data.ts';
import type { Initializer } from './initializer.ts';
import {
  StringStringEntryProtoSchema,
  TensorProto_DataLocation as DataLocation,
  TensorProtoSchema,
  ValueInfoProtoSchema,
  type TensorProto,
  type ValueInfoProto,
} from './onnx_pb.ts';

/** A dimension: a size, or the name of a symbolic one. */
export type Dimension = number | string;

/** A graph input or output. */
export function valueInfo(
  name: string,
  type: ElementType,
  dims: readonly Dimension[],
): ValueInfoProto {
  const dim = dims.map((size) =>
    typeof size === 'string'
      ? { value: { case: 'dimParam' as const, value: size } }
      : { value: { case: 'dimValue' as const, value: BigInt(size) } },
  );
  const { dataType } = elementTypeInfo(type);
  return create(ValueInfoProtoSchema, {
    name,
    type: { value: { case: 'tensorType', value: { elemType: dataType, shape: { dim } } } },
  });
}

function tensorHeader({ name, type, dims }: Initializer): TensorProto {
  return create(TensorProtoSchema, {
    name,
    dims: dims.map(BigInt),
    dataType: elementTypeInfo(type).dataType,
  });
}

/** A tensor whose bytes are in the graph file. */
export function inlineTensor(initializer: Initializer, bytes: Uint8Array): TensorProto {
  const tensor = tensorHeader(initializer);
  tensor.rawData = bytes;
  return tensor;
}

/** A tensor whose bytes are in the file `location` beside the graph file. */
export function externalTensor(
  initializer: Initializer,
  location: string,
  span: ExternalSpan,
): TensorProto {
  const tensor = tensorHeader(initializer);
  tensor.dataLocation = DataLocation.EXTERNAL;
  tensor.externalData = [
    { key: 'location', value: location },
    { key: 'offset', value: String(span.offset) },
    { key: 'length', value: String(span.length) },
  ].map((entry) => create(StringStringEntryProtoSchema, entry));
  return tensor;
}
