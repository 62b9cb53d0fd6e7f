/** Attention of DeBERTa: scores of contents, and of contents with distances in both directions. */
import type { EncoderOps } from './encoder-ops.ts';
import type { DistanceEmbeddings, EncoderConfig } from './encoder-shape.ts';

/** Values of a layer that distances are scored with, each [batch, seq, heads * head_dim]. */
interface Contents {
  readonly query: string;
  readonly key: string;
}

/** Adds what depends on distances to the scores of an encoder's layers. */
export class DisentangledBias {
  readonly #ops: EncoderOps;
  readonly #config: EncoderConfig;
  readonly #distances: DistanceEmbeddings;
  #shared: { readonly embeddings: string; readonly rows: string } | null = null;

  constructor(ops: EncoderOps, config: EncoderConfig, distances: DistanceEmbeddings) {
    this.#ops = ops;
    this.#config = config;
    this.#distances = distances;
  }

  /**
   * Score of a query i with a key j beyond their contents: that of i with the distance as a key, and that
   * of j with it as a query.
   * @param projections tensors that make keys and queries of distances
   * @param places int64 [seq, seq]: the place of a key less that of the query
   * @returns the name of float [batch, heads, seq, seq]
   */
  emit(
    name: string,
    { query, key }: Contents,
    projections: readonly [key: string, query: string],
    places: string,
  ): string {
    const { graph } = this.#ops;
    const { rows } = (this.#shared ??= this.#share(places));
    const [asKeys, asQueries] = projections.map((tensor) => this.#projected(tensor));
    const fromQueries = this.#scores(`${name}/FromQueries`, query, asKeys ?? '', rows);
    // Row and column by the same distance, so the table of keys is read turned.
    const turned = graph.node(`${name}/TurnedRows`, 'Transpose', [rows], {
      attributes: { perm: [1n, 0n] },
    });
    const fromKeys = this.#scores(`${name}/FromKeys`, key, asQueries ?? '', turned);
    const back = graph.node(`${name}/FromKeys/Turned`, 'Transpose', [fromKeys], {
      attributes: { perm: [0n, 1n, 3n, 2n] },
    });
    return graph.node(`${name}/Distances`, 'Add', [fromQueries, back]);
  }

  /** Scores of contents with distances, [batch, heads, seq, seq], where `rows` says which distance counts. */
  #scores(name: string, contents: string, distances: string, rows: string): string {
    const { graph } = this.#ops;
    const { numHeads, headDim } = this.#config;
    const shape = this.#ops.int64s(`${name}/shape`, 0, 0, numHeads, headDim);
    const apart = graph.node(`${name}/Apart`, 'Reshape', [contents, shape]);
    const heads = graph.node(`${name}/Heads`, 'Transpose', [apart], {
      attributes: { perm: [0n, 2n, 1n, 3n] },
    });
    const all = graph.node(`${name}/All`, 'MatMul', [heads, distances]);
    const sizes = graph.node(`${name}/Sizes`, 'Shape', [all], {
      attributes: { start: 0n, end: 3n },
    });
    const last = graph.node(`${name}/Last`, 'Shape', [rows], { attributes: { start: 1n } });
    const whole = graph.node(`${name}/Whole`, 'Concat', [sizes, last], {
      attributes: { axis: 0n },
    });
    const which = graph.node(`${name}/Which`, 'Expand', [rows, whole]);
    return graph.node(name, 'GatherElements', [all, which], { attributes: { axis: -1n } });
  }

  /** Keys or queries of all distances, [heads, head_dim, 2 * span], scaled as scores are. */
  #projected(tensor: string): string {
    const { graph } = this.#ops;
    const { numHeads, headDim, attentionScale } = this.#config;
    const { embeddings } = this.#shared ?? { embeddings: '' };
    const name = `${tensor}/Distances`;
    const made = this.#ops.dense(embeddings, tensor, numHeads * headDim, true);
    const shape = this.#ops.int64s(`${name}/shape`, 0, numHeads, headDim);
    const apart = graph.node(`${name}/Apart`, 'Reshape', [made, shape]);
    const heads = graph.node(`${name}/Heads`, 'Transpose', [apart], {
      attributes: { perm: [1n, 2n, 0n] },
    });
    return graph.node(name, 'Mul', [heads, this.#ops.float(`${name}/scale`, attentionScale)]);
  }

  #share(places: string): { readonly embeddings: string; readonly rows: string } {
    const { graph } = this.#ops;
    const { hiddenSize, numPositions } = this.#config;
    const { embeddings, norm, span } = this.#distances;
    const table = this.#ops.tensor(embeddings, [2 * span, hiddenSize]);
    const furthest = numPositions - 1;
    const rows = BigInt64Array.from({ length: 2 * furthest + 1 }, (_, at) =>
      // Counted from the key to the query.
      BigInt(this.#rowOf(furthest - at)),
    );
    const name = 'distances/rows';
    const byDistance = graph.initializer(`${name}/table`, 'int64', [rows.length], rows);
    const middle = this.#ops.int64(`${name}/middle`, furthest);
    const which = graph.node(`${name}/Places`, 'Add', [places, middle]);
    return {
      embeddings: norm === null ? table : this.#ops.norm(norm, table),
      rows: graph.node(name, 'Gather', [byDistance, which]),
    };
  }

  #rowOf(distance: number): number {
    const { span, furthest, isBucketed } = this.#distances;
    const bucket = isBucketed ? distanceBucket(distance, span, furthest) : distance;
    return Math.min(2 * span - 1, Math.max(0, bucket + span));
  }
}

/**
 * Distances are exact up to half of `size`, and beyond it by their logarithm, as DeBERTa v2 counts them.
 * @param furthest distance that has the last bucket
 */
export function distanceBucket(distance: number, size: number, furthest: number): number {
  const middle = Math.floor(size / 2);
  const far = Math.abs(distance);
  if (far <= middle) return distance;
  // In float32, where Transformers computes it: a border may fall on either side.
  const log = (value: number) => Math.fround(Math.log(Math.fround(value)));
  const share = Math.fround(log(far / middle) / log((furthest - 1) / middle));
  const large = Math.ceil(Math.fround(share * (middle - 1))) + middle;
  return Math.sign(distance) * large;
}
