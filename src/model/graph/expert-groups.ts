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
  const int64s = (part: string, ...values: readonly number[]) =>
    graph.initializer(name(part), 'int64', [values.length], BigInt64Array.from(values, BigInt));
  const topOf = (part: string, value: string, many: number) => {
    const outputs = [name(part), name(`${part}Ids`)] as const;
    graph.node(name(part), 'TopK', [value, int64s(`${part}/count`, many)], {
      outputs,
      attributes: { axis: -1n },
    });
    return outputs;
  };
  const byGroup = graph.node(name('ByGroup'), 'Reshape', [
    scores,
    int64s('by_group', -1, groups.count, count / groups.count),
  ]);
  const [highest] = topOf('Highest', byGroup, groups.scored);
  const sums = graph.node(name('Sums'), 'ReduceSum', [highest, int64s('last', 2)], {
    attributes: { keepdims: 0n },
  });
  const [, picked] = topOf('Picked', sums, groups.perToken);
  const column = graph.node(name('Column'), 'Unsqueeze', [picked, int64s('last_of_picked', 2)]);
  const numbers = Array.from({ length: groups.count }, (_, group) => group);
  // One number of each token [picked, groups], alone in its row.
  const isPicked = graph.node(name('IsPicked'), 'Equal', [column, int64s('numbers', ...numbers)]);
  const ones = cast(graph, name('Ones'), isPicked, 'int64');
  const times = graph.node(name('Times'), 'ReduceSum', [ones, int64s('middle', 1)], {
    attributes: { keepdims: 0n },
  });
  const isAllowed = graph.node(name('IsAllowed'), 'Greater', [times, int64s('zero', 0)]);
  const mask = graph.node(name('Mask'), 'Unsqueeze', [isAllowed, int64s('last_of_mask', 2)]);
  const none = scalar(graph, name('none'), 'float', LOWEST);
  const masked = graph.node(name('Masked'), 'Where', [mask, byGroup, none]);
  return graph.node(name('Flat'), 'Reshape', [masked, int64s('flat', -1, count)]);
}
