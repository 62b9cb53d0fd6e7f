import { create } from '@bufbuild/protobuf';

import { attributeProto } from './attributes.ts';
import { elementTypeInfo, type ElementType } from './data-type.ts';
import type { ExternalSpan } from './external-data.ts';
import type { Dimension, NodeOptions } from './graph-nodes.ts';
import type { Initializer } from './initializer.ts';
import {
  NodeProtoSchema,
  StringStringEntryProtoSchema,
  TensorProto_DataLocation as DataLocation,
  TensorProtoSchema,
  ValueInfoProtoSchema,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from './onnx_pb.ts';

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

/** A node; one output, named after it, if no others are given. */
export function nodeProto(
  name: string,
  opType: string,
  inputs: readonly string[],
  { outputs = [name], domain = '', attributes = {} }: NodeOptions = {},
): NodeProto {
  return create(NodeProtoSchema, {
    name,
    opType,
    domain,
    input: [...inputs],
    output: [...outputs],
    attribute: Object.entries(attributes).map(([key, value]) => attributeProto(key, value)),
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

/** A tensor whose bytes are in the file `location` next to the graph file. */
export function externalTensor(
  initializer: Initializer,
  location: string,
  span: ExternalSpan,
): TensorProto {
  return movedTensor(tensorHeader(initializer), location, span);
}

/** A tensor like another, with its bytes in the file `location` next to the graph file. */
export function movedTensor(
  { name, dims, dataType }: TensorProto,
  location: string,
  { offset, length }: ExternalSpan,
): TensorProto {
  const entries = { location, offset: String(offset), length: String(length) };
  return create(TensorProtoSchema, {
    name,
    dims,
    dataType,
    dataLocation: DataLocation.EXTERNAL,
    externalData: Object.entries(entries).map(([key, value]) =>
      create(StringStringEntryProtoSchema, { key, value }),
    ),
  });
}

export function isExternal({ dataLocation }: TensorProto): boolean {
  return dataLocation === DataLocation.EXTERNAL;
}
