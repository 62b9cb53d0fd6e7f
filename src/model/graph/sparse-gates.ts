import { int64s } from '../../onnx/int64s.ts';
import { cast, scalar } from '../quantize/float-matrix.ts';
import { emitActivation, splitGates } from './activation.ts';
import type { DecoderOps } from './decoder-ops.ts';

/**
 * Gates, activated, times ups, as emitGated; of each row's gates, only what is above their mean by so many
 * deviations (Gemma 3n's, https://arxiv.org/abs/2506.06644).
 */
export function emitSparseGates(
  { graph, config, type }: DecoderOps,
  prefix: string,
  gateUp: string,
  floor: number,
): string {
  const name = (part: string): string => `${prefix}/${part}`;
  const node = (part: string, opType: string, ...inputs: readonly string[]): string =>
    graph.node(name(part), opType, inputs);
  const { gate, up } = splitGates(graph, prefix, gateUp);
  const float = type === 'float' ? gate : cast(graph, name('GateFloat'), gate, 'float');
  const axis = int64s(graph, name('axis'), 1);
  const mean = node('Mean', 'ReduceMean', float, axis);
  const apart = node('Apart', 'Sub', float, mean);
  const variance = node('Variance', 'ReduceMean', node('Squares', 'Mul', apart, apart), axis);
  const deviation = node('Deviation', 'Sqrt', variance);
  const least = node('Least', 'Mul', deviation, scalar(graph, name('floor'), 'float', floor));
  const above = node('Above', 'Relu', node('Beyond', 'Sub', apart, least));
  const sparse = type === 'float' ? above : cast(graph, name('Sparse'), above, type);
  return node('Mul', 'Mul', emitActivation(graph, sparse, config.activation), up);
}
