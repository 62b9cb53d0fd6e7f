import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import { cast } from '../quantize/float-matrix.ts';
import type { GroupPrefix } from './token-packing.ts';

/**
 * Adds the position of every token, int64 [tokens], in the order of packTokens.
 *
 * A sequence's new tokens are its last ones: they begin at its length after the step minus their
 * number. Padded sequences are new, and begin at 0.
 */
export function packPositions(graph: GraphNodes, groups: readonly GroupPrefix[]): string {
  const constant = (name: string, ...values: readonly bigint[]) =>
    graph.initializer(`positions/${name}`, 'int64', [values.length], BigInt64Array.from(values));
  const scalar = (name: string, value: bigint) =>
    graph.initializer(`positions/${name}`, 'int64', [], BigInt64Array.of(value));
  const [zero, one] = [scalar('zero', 0n), scalar('one', 1n)];
  const [last, rest] = [constant('last', 1n), constant('rest', -1n)];

  const parts = groups.map((group) => {
    const name = (part: string) => `${group}positions/${part}`;
    const dims = graph.node(name('dims'), 'Shape', [`${group}input_ids`]);
    const count = graph.node(name('count'), 'Gather', [dims, one]);
    const lengths = cast(graph, name('lengths'), `${group}seqlens_k`, 'int64');
    const next = graph.node(name('next'), 'Sub', [lengths, count]);
    const start = graph.node(name('start'), 'Add', [next, one]);
    const past = graph.node(name('past'), 'Max', [start, zero]);
    const column = graph.node(name('column'), 'Unsqueeze', [past, last]);
    const offsets = graph.node(name('offsets'), 'Range', [zero, count, one]);
    const positions = graph.node(name('positions'), 'Add', [column, offsets]);
    return graph.node(name('flat'), 'Reshape', [positions, rest]);
  });
  return graph.node('positions/packed', 'Concat', parts, { attributes: { axis: 0n } });
}
