import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { cast } from './float-matrix.ts';

/** What stands before the names of a row group's inputs and outputs. */
export type GroupPrefix = '' | 'prefill.';

/** The tokens of one or several groups of rows, one after the other, padding included. */
export interface TokenPacking {
  /** int32 [tokens]: all groups' `input_ids`. */
  readonly tokenIds: string;
  /**
   * Takes [tokens, n] apart, applies `action` to each group's [batch, seq, n], which gives
   * [batch, seq, width], and packs the results as [tokens, width].
   */
  forEachGroup(
    packed: string,
    width: number,
    action: (tokens: string, group: GroupPrefix) => string,
  ): string;
}

/** Adds the packing of the groups' `input_ids` [batch, seq] to the graph. */
export function packTokens(graph: GraphBuilder, groups: readonly GroupPrefix[]): TokenPacking {
  const rest = graph.initializer('packing/rest', 'int64', [1], BigInt64Array.of(-1n));
  const parts = groups.map((group) => {
    // WebGPU tells no shape of int64 without a copy to the host, and captures no graph with copies.
    const given = cast(graph, `${group}packing/given`, `${group}input_ids`, 'int32');
    const ids = graph.node(`${group}packing/ids`, 'Reshape', [given, rest]);
    const size = graph.node(`${group}packing/size`, 'Shape', [ids]);
    const dims = graph.node(`${group}packing/dims`, 'Shape', [given]);
    return { group, ids, size, shape: concat(`${group}packing/shape`, [dims, rest]) };
  });
  const tokenIds = parts.map(({ ids }) => ids);
  const sizes = concat(
    'packing/sizes',
    parts.map(({ size }) => size),
  );

  /** Joins along the tokens. */
  function concat(name: string, values: readonly string[]): string {
    const [only] = values;
    if (only !== undefined && values.length === 1) return only;
    return graph.node(name, 'Concat', values, { attributes: { axis: 0n } });
  }

  function split(packed: string): readonly string[] {
    if (parts.length === 1) return [packed];
    const outputs = parts.map(({ group }) => `${group}${packed}/Tokens`);
    graph.node(`${packed}/Split`, 'Split', [packed, sizes], { outputs, attributes: { axis: 0n } });
    return outputs;
  }

  return {
    tokenIds: concat('packing/token_ids', tokenIds),
    forEachGroup(packed, width, action) {
      const tokens = split(packed);
      const flat = graph.initializer(
        `${packed}/flat`,
        'int64',
        [2],
        BigInt64Array.of(-1n, BigInt(width)),
      );
      const results = parts.map(({ group, shape }, index) => {
        const rows = graph.node(`${group}${packed}/Rows`, 'Reshape', [tokens[index] ?? '', shape]);
        const result = action(rows, group);
        return graph.node(`${result}/Flat`, 'Reshape', [result, flat]);
      });
      return concat(`${packed}/Packed`, results);
    },
  };
}
