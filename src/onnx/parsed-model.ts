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

/**
 * In place of a file's name, ONNX Runtime's mark of a tensor whose place is an address in its process'
 * memory: in a file somebody else made it would have us read whatever is there.
 */
const MEMORY_MARK = '_ORT_MEM_ADDR_';

/** @throws Error when the bytes are no ONNX model, or one that reads its reader's memory */
export function parseModel(bytes: Uint8Array): ParsedModel {
  // Searches the bytes, since we keep parts of a model that we do not parse.
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(MEMORY_MARK)) {
    throw new Error(`it has tensors by their addresses (${MEMORY_MARK})`);
  }
  const model = fromBinary(ModelProtoSchema, bytes);
  if (!model.graph) throw new Error('there is no graph in it');
  return { model, graph: model.graph };
}

/**
 * Inputs that a graph must be given, without its constants, which older versions of ONNX list as inputs
 * too.
 */
export function givenInputs({ input, initializer }: GraphProto): ValueInfoProto[] {
  const constants = new Set(initializer.map(({ name }) => name));
  return input.filter(({ name }) => !constants.has(name));
}
