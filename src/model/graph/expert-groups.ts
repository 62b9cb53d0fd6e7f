import { int64s } from '../../onnx/int64s.ts';
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { cast, scalar } from '../quantize/float-matrix.ts';

/** The lowest float32. */
const LOWEST = -3.4028234663852886e38;

/**
 * Adds the choice of groups of experts: scores of experts of other groups than a token's become lower than
 * all others.
 * @param scores name of float [tokens, experts]
 * @returns the name of a value of the same shape
 */
export function ofGroups(
  graph: GraphBuilder,
  prefix: string,
  scores: string,
  { count, groups }: ExpertConfig,
): string {
  if (groups === undefined) return scores;
  const name = (part: string) => `${prefix}/Groups/${part}`;
  const ints = (part: string, ...values: readonly number[]) => int64s(graph, name(part), ...values);
  const topOf = (part: string, value: string, many: number) => {
    const outputs = [name(part), name(`${part}Ids`)] as const;
    graph.node(name(part), 'TopK', [value, ints(`${part}/count`, many)], {
      outputs,
      attributes: { axis: -1n },
    });
    return outputs;
  };
  const byGroup = graph.node(name('ByGroup'), 'Reshape', [
    scores,
    ints('by_group', -1, groups.count, count / groups.count),
  ]);
  const [highest] = topOf('Highest', byGroup, groups.scored);
  const sums = graph.node(name('Sums'), 'ReduceSum', [highest, ints('last', 2)], {
    attributes: { keepdims: 0n },
  });
  const [, picked] = topOf('Picked', sums, groups.perToken);
  const column = graph.node(name('Column'), 'Unsqueeze', [picked, ints('last_of_picked', 2)]);
  const numbers = Array.from({ length: groups.count }, (_, group) => group);
  // One number of each token [picked, groups], alone in its row.
  const isPicked = graph.node(name('IsPicked'), 'Equal', [column, ints('numbers', ...numbers)]);
  const ones = cast(graph, name('Ones'), isPicked, 'int64');
  const times = graph.node(name('Times'), 'ReduceSum', [ones, ints('middle', 1)], {
    attributes: { keepdims: 0n },
  });
  const isAllowed = graph.node(name('IsAllowed'), 'Greater', [times, ints('zero', 0)]);
  const mask = graph.node(name('Mask'), 'Unsqueeze', [isAllowed, ints('last_of_mask', 2)]);
  const none = scalar(graph, name('none'), 'float', LOWEST);
  const masked = graph.node(name('Masked'), 'Where', [mask, byGroup, none]);
  return graph.node(name('Flat'), 'Reshape', [masked, ints('flat', -1, count)]);
}
