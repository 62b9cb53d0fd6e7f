import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { LinearInput, LinearLayer } from './linear.ts';
import { ADAPTER_MASK, adapterInputs } from './live-adapter-shape.ts';

/**
 * Adds to linear layers what adapters add to them: every token is multiplied with all adapters in the
 * run, side by side, and keeps its own. Three nodes for a layer.
 */
export class LiveAdapters {
  readonly #graph: GraphBuilder;
  readonly #maxRank: number;
  /** Names of masks by the layers that they fit. */
  readonly #masks = new Map<string, string>();

  constructor(graph: GraphBuilder, maxRank: number) {
    this.#graph = graph;
    this.#maxRank = maxRank;
    graph.input(ADAPTER_MASK, 'float', ['tokens', 'adapters']);
  }

  /** @param base the layer's own output @returns the name of the sum */
  add(base: string, { name, inFeatures, parts }: LinearLayer, input: LinearInput): string {
    const graph = this.#graph;
    const outFeatures = parts.reduce((sum, part) => sum + part.outFeatures, 0);
    const [down, up] = adapterInputs(name);
    const rank = `adapter_rows_${parts.length}`;
    graph.input(down, 'float', [rank, inFeatures]);
    graph.input(up, 'float', [rank, outFeatures]);
    const reduced = graph.node(`${name}/Adapters`, 'Gemm', [input.value, down], {
      attributes: { transB: 1n },
    });
    const mask = this.#mask(parts.length, input.rowsLike);
    const own = graph.node(`${name}/OwnAdapter`, 'Mul', [reduced, mask]);
    return graph.node(`${name}/Adapted`, 'Gemm', [own, up, base]);
  }

  /** [tokens, slots * parts * maxRank] of the tokens that a layer computes. */
  #mask(parts: number, rowsLike: string): string {
    const key = `${parts}/${rowsLike}`;
    const known = this.#masks.get(key);
    if (known !== undefined) return known;
    const graph = this.#graph;
    const prefix = `${ADAPTER_MASK}/${key}`;
    const int64s = (name: string, ...values: readonly number[]) =>
      graph.initializer(
        `${prefix}/${name}`,
        'int64',
        [values.length],
        BigInt64Array.from(values, BigInt),
      );
    const rows =
      rowsLike === 'logits_index'
        ? graph.node(`${prefix}/Wanted`, 'Gather', [ADAPTER_MASK, rowsLike])
        : ADAPTER_MASK;
    const apart = graph.node(`${prefix}/Apart`, 'Unsqueeze', [rows, int64s('axis', 2)]);
    const shape = int64s('spread', 1, 1, parts * this.#maxRank);
    const spread = graph.node(`${prefix}/Spread`, 'Expand', [apart, shape]);
    const made = graph.node(`${prefix}/Mask`, 'Reshape', [spread, int64s('flat', 0, -1)]);
    this.#masks.set(key, made);
    return made;
  }
}
