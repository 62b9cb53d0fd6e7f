import { create } from '@bufbuild/protobuf';

import {
  AttributeProto_AttributeType as AttributeType,
  AttributeProtoSchema,
  type AttributeProto,
} from './onnx_pb.ts';

/**
 * A node attribute. A `bigint` is an ONNX INT and a `number` a FLOAT: the two are different types
 * in ONNX, and a JavaScript number cannot distinguish `1` from `1.0`.
 */
export type AttributeValue =
  | number
  | bigint
  | string
  | readonly number[]
  | readonly bigint[]
  | readonly string[];

const utf8 = new TextEncoder();

/** Encodes one node attribute. */
export function attributeProto(name: string, value: AttributeValue): AttributeProto {
  const proto = create(AttributeProtoSchema, { name });
  if (typeof value === 'number') {
    proto.type = AttributeType.FLOAT;
    proto.f = value;
  } else if (typeof value === 'bigint') {
    proto.type = AttributeType.INT;
    proto.i = value;
  } else if (typeof value === 'string') {
    proto.type = AttributeType.STRING;
    proto.s = utf8.encode(value);
  } else if (isArrayOf(value, 'number')) {
    proto.type = AttributeType.FLOATS;
    proto.floats = [...value];
  } else if (isArrayOf(value, 'bigint')) {
    proto.type = AttributeType.INTS;
    proto.ints = [...value];
  } else if (isArrayOf(value, 'string')) {
    proto.type = AttributeType.STRINGS;
    proto.strings = value.map((item) => utf8.encode(item));
  } else {
    throw new TypeError(`attribute "${name}": an array must hold numbers, bigints or strings only`);
  }
  return proto;
}

interface TypeNames {
  number: number;
  bigint: bigint;
  string: string;
}

function isArrayOf<T extends keyof TypeNames>(
  values: readonly unknown[],
  type: T,
): values is readonly TypeNames[T][] {
  // An empty list has no element type; no ONNX attribute needs one.
  return values.length > 0 && values.every((value) => typeof value === type);
}
