import { ADAPTER_MASK } from '../graph/live-adapter-shape.ts';
import type { NormBefore } from '../graph/decoder-values.ts';
import type { LinearLayer } from '../graph/linear.ts';
import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { adapterPool, LowRankLayout } from './low-rank-layout.ts';

/** As in native/low-rank-operator.cpp. */
const COLUMNS = ['columns', 'second_columns', 'third_columns'] as const;

/** Adds what adapters add to linear layers, one node for each: what it gives, the layer's product takes. */
export class NativeAdapters {
  readonly #graph: GraphBuilder;
  readonly #maxRank: number;
  #wanted: string | undefined;

  constructor(graph: GraphBuilder, maxRank: number) {
    this.#graph = graph;
    this.#maxRank = maxRank;
    graph.input(ADAPTER_MASK, 'float', ['tokens', 'adapters']);
  }

  /**
   * @param input of the layer, before its norm
   * @param isWanted it has the tokens that logits are wanted of, and not all
   * @returns the name of what is to be added
   */
  add(layer: LinearLayer, input: string, norm: NormBefore | undefined, isWanted: boolean): string {
    const { name, inFeatures, parts } = layer;
    const columns = parts.map(({ outFeatures }) => outFeatures);
    const { numBytes } = new LowRankLayout(inFeatures, columns, this.#maxRank);
    const pool = adapterPool(name);
    this.#graph.input(pool, 'uint8', ['adapters', numBytes]);
    const mask = isWanted ? this.#maskOfWanted() : ADAPTER_MASK;
    const inputs = [input, mask, pool, ...(norm ? [norm.weight] : [])];
    return this.#graph.node(`${name}/Adapters`, 'LowRank', inputs, {
      domain: NATIVE_DOMAIN,
      attributes: {
        in_features: BigInt(inFeatures),
        max_rank: BigInt(this.#maxRank),
        epsilon: norm?.epsilon ?? 0,
        ...Object.fromEntries(columns.map((count, part) => [COLUMNS[part], BigInt(count)])),
      },
    });
  }

  #maskOfWanted(): string {
    this.#wanted ??= this.#graph.node(`${ADAPTER_MASK}/Wanted`, 'Gather', [
      ADAPTER_MASK,
      'logits_index',
    ]);
    return this.#wanted;
  }
}
