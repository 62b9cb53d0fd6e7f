import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { LinearInput, LinearLayer } from './linear.ts';
import { int64s } from '../../onnx/int64s.ts';
import { ADAPTER_MASK, adapterInputs, liveMatrixName } from './live-adapter-shape.ts';

/**
 * Adds to linear layers what adapters add to them: every token is multiplied with all adapters in the
 * run, side by side, and keeps its own. Three nodes for a tensor of the checkpoint: what several that
 * read the same value add to it is only put together at the end, since the zeros between them would be
 * most of the work.
 */
export class LiveAdapters {
  readonly #graph: GraphBuilder;
  readonly #maxRank: number;
  /** Names of masks by what tokens are counted by. */
  readonly #masks = new Map<string, string>();

  constructor(graph: GraphBuilder, maxRank: number) {
    this.#graph = graph;
    this.#maxRank = maxRank;
    graph.input(ADAPTER_MASK, 'float', ['tokens', 'adapters']);
  }

  /** @param base the layer's own output @returns the name of the sum */
  add(base: string, { name, inFeatures, parts }: LinearLayer, input: LinearInput): string {
    const graph = this.#graph;
    const mask = this.#mask(input.rowsLike);
    const isOne = parts.length === 1;
    const added = parts.map(({ outFeatures }, index) => {
      const part = liveMatrixName(name, index);
      const [down, up] = adapterInputs(part);
      graph.input(down, 'float', ['adapter_rows', inFeatures]);
      graph.input(up, 'float', ['adapter_rows', outFeatures]);
      const reduced = graph.node(`${part}/Adapters`, 'Gemm', [input.value, down], {
        attributes: { transB: 1n },
      });
      const own = graph.node(`${part}/OwnAdapter`, 'Mul', [reduced, mask]);
      return graph.node(`${part}/Adapted`, 'Gemm', isOne ? [own, up, base] : [own, up]);
    });
    const [sum] = added;
    if (isOne && sum !== undefined) return sum;
    const all = graph.node(`${name}/Adapted`, 'Concat', added, { attributes: { axis: 1n } });
    return graph.node(`${name}/WithAdapters`, 'Add', [base, all]);
  }

  /** [tokens, slots * maxRank] of the tokens that a layer computes. */
  #mask(rowsLike: string): string {
    const known = this.#masks.get(rowsLike);
    if (known !== undefined) return known;
    const graph = this.#graph;
    const prefix = `${ADAPTER_MASK}/${rowsLike}`;
    const ints = (name: string, ...values: readonly number[]) =>
      int64s(graph, `${prefix}/${name}`, ...values);
    const rows =
      rowsLike === 'logits_index'
        ? graph.node(`${prefix}/Wanted`, 'Gather', [ADAPTER_MASK, rowsLike])
        : ADAPTER_MASK;
    const apart = graph.node(`${prefix}/Apart`, 'Unsqueeze', [rows, ints('axis', 2)]);
    const shape = ints('spread', 1, 1, this.#maxRank);
    const spread = graph.node(`${prefix}/Spread`, 'Expand', [apart, shape]);
    const made = graph.node(`${prefix}/Mask`, 'Reshape', [spread, ints('flat', 0, -1)]);
    this.#masks.set(rowsLike, made);
    return made;
  }
}
