import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { Family } from '../families/family.ts';
import { emitRmsNorm } from './rms-norm.ts';

/**
 * Adds a family's normalization of a value over its last axis; returns its output's name.
 * @param weights names of what it multiplies by, and of what it adds
 */
export function emitNorm(
  graph: GraphBuilder,
  output: string,
  value: string,
  [weight, bias]: readonly [weight: string, bias?: string | undefined],
  { norms }: Family,
  epsilon: number,
): string {
  if (norms === 'rms') return emitRmsNorm(graph, output, value, weight, epsilon);
  const inputs = bias === undefined ? [value, weight] : [value, weight, bias];
  return graph.node(output, 'LayerNormalization', inputs, { attributes: { epsilon, axis: -1n } });
}
