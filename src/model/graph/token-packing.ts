import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import { cast } from '../quantize/float-matrix.ts';

/** The prefix of the names of a group's inputs and outputs. */
export type GroupPrefix = '' | 'prefill.';

/** The tokens of one or several groups of sequences, one after the other, padding included. */
export interface TokenPacking {
  /** int32 [tokens]: all groups' `input_ids`. */
  readonly tokenIds: string;
  /**
   * Takes each [tokens, n] of `packed` apart, applies `action` to every group's [batch, seq, n], which
   * gives [batch, seq, width], and packs the results as [tokens, width].
   */
  forEachGroup(
    packed: readonly string[],
    width: number,
    action: (tokens: readonly string[], group: GroupPrefix) => string,
  ): string;
}

/** Adds the packing of the groups' `input_ids` [batch, seq] to the graph. */
export function packTokens(graph: GraphNodes, groups: readonly GroupPrefix[]): TokenPacking {
  const rest = graph.initializer('packing/rest', 'int64', [1], BigInt64Array.of(-1n));
  const parts = groups.map((group) => {
    // WebGPU needs a copy to the host for the shape of an int64 value, and captures no graph with
    // copies.
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

  /** The groups' [batch, seq, n] of [tokens, n]. */
  function split(packed: string): readonly string[] {
    let tokens = [packed];
    if (parts.length > 1) {
      tokens = parts.map(({ group }) => `${group}${packed}/Tokens`);
      const options = { outputs: tokens, attributes: { axis: 0n } };
      graph.node(`${packed}/Split`, 'Split', [packed, sizes], options);
    }
    return parts.map(({ group, shape }, index) =>
      graph.node(`${group}${packed}/Rows`, 'Reshape', [tokens[index] ?? '', shape]),
    );
  }

  return {
    tokenIds: concat('packing/token_ids', tokenIds),
    forEachGroup(packed, width, action) {
      const [name = ''] = packed;
      const rows = packed.map(split);
      const flat = graph.initializer(
        `${name}/flat`,
        'int64',
        [2],
        BigInt64Array.of(-1n, BigInt(width)),
      );
      const results = groups.map((group, index) => {
        const result = action(
          rows.map((ofGroup) => ofGroup[index] ?? ''),
          group,
        );
        return graph.node(`${result}/Flat`, 'Reshape', [result, flat]);
      });
      return concat(`${name}/Packed`, results);
    },
  };
}
