import { GraphBuilder } from '../../src/onnx/graph-builder.ts';

/** A classifier: `logits` [batch, 3] are the means of red, green and blue of `pixels` [batch, 3, 4, 4]. */
export function colorGraph(): Uint8Array {
  const graph = new GraphBuilder('color');
  graph.input('pixels', 'float', ['batch', 3, 4, 4]);
  graph.node('means', 'GlobalAveragePool', ['pixels']);
  graph.node('logits', 'Flatten', ['means']);
  graph.output('logits', 'float', ['batch', 3]);
  return graph.toBytes();
}
