import { attributeProto } from '../../onnx/attributes.ts';
import type { NodeProto } from '../../onnx/onnx_pb.ts';
import { INT8_ACTIVATIONS } from '../quantize/weight-format.ts';

const LEVEL = 'accuracy_level';
/** ONNX Runtime's default for an export that names no level: matmuls of floats. */
const UNSET = 0n;

/**
 * Makes matmuls with quantized weights use 8-bit activations if the export does not say. On a CPU
 * that makes them fast: 10x for one token of a small model.
 * @param nodes of a graph that computes in float32; changed in place
 */
export function quantizeActivations(nodes: readonly NodeProto[]): void {
  for (const { opType, attribute } of nodes) {
    if (opType !== 'MatMulNBits') continue;
    const level = attribute.find(({ name }) => name === LEVEL);
    if (level === undefined) attribute.push(attributeProto(LEVEL, INT8_ACTIVATIONS));
    else if (level.i === UNSET) level.i = INT8_ACTIVATIONS;
  }
}
