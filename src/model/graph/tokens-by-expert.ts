import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64s } from '../../onnx/int64s.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { cast } from '../quantize/float-matrix.ts';

/** Every pair of a token and an expert of it, in the order of experts; of one expert, of tokens. */
interface Grouped {
  /** int64 [pairs]: the place of each, token by token. */
  readonly pairs: string;
  /** int64 [pairs]: the token of each. */
  readonly tokens: string;
  /** int64 [pairs]: token by token, where its pairs are in this order. */
  readonly places: string;
  /** By expert, a value of as many rows as it has pairs. */
  readonly rowsLike: readonly string[];
  /** Takes a value [pairs, ...] apart, by expert. */
  split(name: string, value: string): string[];
}

/** Adds the order of experts. @param ids int64 [tokens, perToken]: the experts of each */
export function groupByExpert(
  graph: GraphBuilder,
  prefix: string,
  ids: string,
  { count, perToken }: ExpertConfig,
): Grouped {
  const name = (part: string) => `${prefix}/${part}`;
  const flat = graph.node(name('Pairs'), 'Reshape', [ids, int64s(graph, name('flat'), -1)]);
  const size = graph.node(name('NumPairs'), 'Shape', [flat]);
  // TopK takes the first one first among equal values.
  const sort = (value: string) => {
    const outputs = [`${value}/Sorted`, `${value}/Order`] as const;
    graph.node(`${value}/TopK`, 'TopK', [value, size], { outputs, attributes: { largest: 0n } });
    return outputs;
  };
  const [sorted, order] = sort(flat);
  const [, places] = sort(order);
  const numPerToken = graph.initializer(
    name('pairs_per_token'),
    'int64',
    [],
    BigInt64Array.of(BigInt(perToken)),
  );
  const tokens = graph.node(name('Tokens'), 'Div', [order, numPerToken]);

  const numbers = Array.from({ length: count }, (_, expert) => expert);
  const column = int64s(graph, name('pairs_axis'), 1);
  const apart = graph.node(name('PairColumn'), 'Unsqueeze', [flat, column]);
  const all = int64s(graph, name('numbers'), ...numbers);
  const isOf = graph.node(name('IsOf'), 'Equal', [apart, all]);
  const ones = cast(graph, name('Ones'), isOf, 'int64');
  const first = int64s(graph, name('first_axis'), 0);
  const counts = graph.node(name('Counts'), 'ReduceSum', [ones, first], {
    attributes: { keepdims: 0n },
  });
  const split = (of: string, value: string) => {
    const outputs = numbers.map((expert) => `${of}.${expert}`);
    graph.node(`${of}/Split`, 'Split', [value, counts], { outputs, attributes: { axis: 0n } });
    return outputs;
  };
  return { pairs: order, tokens, places, rowsLike: split(name('Own'), sorted), split };
}
