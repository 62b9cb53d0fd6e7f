import { int64s } from '../../onnx/int64s.ts';
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { scalar } from '../quantize/float-matrix.ts';

/**
 * Adds a router that picks two experts, as SparseMixer does (https://arxiv.org/abs/2409.12136): the share of each
 * is its softmax among those that are within `2 jitter` of its score, relative to the larger of both; the second is
 * picked without the first. Shares do not add up to 1.
 * @param scores name of float [tokens, experts]
 * @param jitter a share of a score, from 0 on
 * @returns names of int64 and float [tokens, 2]
 */
export function pickSparsely(
  graph: GraphBuilder,
  prefix: string,
  scores: string,
  count: number,
  jitter: number,
): { readonly ids: string; readonly shares: string } {
  const name = (part: string) => `${prefix}/SparseMixer/${part}`;
  const ints = (part: string, ...values: readonly number[]) => int64s(graph, name(part), ...values);
  const ids = name('Ids');
  const highest = graph.node(name('Highest'), 'TopK', [scores, ints('picked', 2)], {
    outputs: [name('Highest'), ids],
    attributes: { axis: -1n },
  });
  // [tokens, 2, experts] from here on.
  const picked = graph.node(name('Picked'), 'Unsqueeze', [highest, ints('last', 2)]);
  const all = graph.node(name('All'), 'Unsqueeze', [scores, ints('middle', 1)]);
  const below = graph.node(name('Below'), 'Sub', [picked, all]);
  const size = graph.node(name('Size'), 'Max', [graph.node(name('Abs'), 'Abs', [all]), picked]);
  const ratio = graph.node(name('Ratio'), 'Div', [below, size]);
  const limit = scalar(graph, name('limit'), 'float', 2 * jitter);
  const isFar = graph.node(name('IsFar'), 'Greater', [ratio, limit]);
  const first = graph.node(name('First'), 'Gather', [ids, ints('of_first', 0)], {
    attributes: { axis: 1n },
  });
  const numbers = ints('numbers', ...Array.from({ length: count }, (_, expert) => expert));
  const isFirst = graph.node(name('IsFirst'), 'Equal', [
    graph.node(name('FirstColumn'), 'Unsqueeze', [first, ints('last_of_first', 2)]),
    numbers,
  ]);
  const isSecondRow = graph.initializer(name('is_second_row'), 'bool', [2, 1], Uint8Array.of(0, 1));
  const isTaken = graph.node(name('IsTaken'), 'And', [isFirst, isSecondRow]);
  const isOut = graph.node(name('IsOut'), 'Or', [isFar, isTaken]);
  const weights = graph.node(name('Exp'), 'Exp', [graph.node(name('Above'), 'Neg', [below])]);
  const none = scalar(graph, name('none'), 'float', 0);
  const kept = graph.node(name('Kept'), 'Where', [isOut, none, weights]);
  // The weight of the one that is picked is 1.
  const sum = graph.node(name('Sum'), 'ReduceSum', [kept, ints('last_of_kept', 2)], {
    attributes: { keepdims: 0n },
  });
  return { ids, shares: graph.node(name('Shares'), 'Reciprocal', [sum]) };
}
