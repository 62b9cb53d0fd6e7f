import type { GraphNodes } from './graph-nodes.ts';

/** Adds a constant list of whole numbers, such as a shape or axes; returns its name. */
export function int64s(graph: GraphNodes, name: string, ...values: readonly number[]): string {
  return graph.initializer(name, 'int64', [values.length], BigInt64Array.from(values, BigInt));
}
