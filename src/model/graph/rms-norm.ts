import type { GraphBuilder } from '../../onnx/graph-builder.ts';

/** Adds the RMS normalization of a value over its last axis; returns its output's name. */
export function emitRmsNorm(
  graph: GraphBuilder,
  output: string,
  value: string,
  weight: string,
  epsilon: number,
): string {
  return graph.node(output, 'SimplifiedLayerNormalization', [value, weight], {
    attributes: { epsilon, axis: -1n },
  });
}
