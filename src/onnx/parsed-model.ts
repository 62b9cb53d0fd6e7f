import { fromBinary } from '@bufbuild/protobuf';

import {
  type GraphProto,
  type ModelProto,
  ModelProtoSchema,
  type ValueInfoProto,
} from './onnx_pb.ts';

/** An ONNX file's content. */
export interface ParsedModel {
  readonly model: ModelProto;
  readonly graph: GraphProto;
}

/** @throws Error when the bytes are no ONNX model */
export function parseModel(bytes: Uint8Array): ParsedModel {
  const model = fromBinary(ModelProtoSchema, bytes);
  if (!model.graph) throw new Error('there is no graph in it');
  return { model, graph: model.graph };
}

/** What a graph is given, which is not what older versions of ONNX list with it: its constants. */
export function givenInputs({ input, initializer }: GraphProto): ValueInfoProto[] {
  const constants = new Set(initializer.map(({ name }) => name));
  return input.filter(({ name }) => !constants.has(name));
}
