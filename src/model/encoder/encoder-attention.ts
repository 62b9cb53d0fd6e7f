import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { rotaryTables } from '../graph/rope.ts';
import { DisentangledBias } from './disentangled.ts';
import type { EncoderOps } from './encoder-ops.ts';
import type { EncoderConfig, EncoderReach, EncoderRope } from './encoder-shape.ts';
import { BUCKETS, bucketOf } from './relative-buckets.ts';

/** Added to the score of a token that is out of reach. */
const OUT_OF_REACH = -1e9;

/** The attention of an encoder's layers: the one part that sees texts as a table with padding. */
export class EncoderAttention {
  readonly #ops: EncoderOps;
  readonly #config: EncoderConfig;
  /** Names of what layers share, once it is in the graph. */
  readonly #shared = new Map<string, string>();
  #disentangled: DisentangledBias | null = null;

  constructor(ops: EncoderOps, config: EncoderConfig) {
    this.#ops = ops;
    this.#config = config;
  }

  /**
   * @param fused queries, keys and values [tokens, (heads + 2 kv_heads) * head_dim]
   * @param headNorms names of the norms of queries and keys
   * @param layer number of the layer
   * @returns the name of [tokens, heads * head_dim]
   */
  attend(
    name: string,
    fused: string,
    { window, rope }: EncoderReach,
    headNorms: readonly string[] | null,
    layer: number,
  ): string {
    const { graph } = this.#ops;
    const { numHeads, numKvHeads, headDim, attentionScale: scale, isCausal } = this.#config;
    const table = graph.node(`${name}/Table`, 'Gather', [fused, 'padded']);
    const parts = ['query', 'key', 'value'].map((part) => `${name}/${part}`);
    const sizes = this.#once('attention/sizes', (shared) =>
      this.#ops.int64s(shared, ...[numHeads, numKvHeads, numKvHeads].map((n) => n * headDim)),
    );
    graph.node(`${name}/Split`, 'Split', [table, sizes], {
      outputs: parts,
      attributes: { axis: -1n },
    });
    const inputs = parts.map((part, at) => {
      const heads = at === 0 ? numHeads : numKvHeads;
      const norm = headNorms?.[at];
      const even = norm === undefined ? part : this.#normalizeHeads(part, norm, heads);
      const turned = at === 2 || rope === null ? even : this.#rotate(even, rope);
      return at === 0 ? turned : this.#repeated(turned);
    });
    const bias = this.#ofDistances(name, parts, layer) ?? this.#bias(window);
    const more = bias === null ? [] : [bias];
    const attended = graph.node(name, 'MultiHeadAttention', [...inputs, '', 'lengths', ...more], {
      domain: MICROSOFT_DOMAIN,
      attributes: {
        num_heads: BigInt(numHeads),
        scale,
        ...(isCausal === true && { unidirectional: 1n }),
      },
    });
    const flat = this.#once('attention/flat', (shared) =>
      this.#ops.int64s(shared, -1, numHeads * headDim),
    );
    const rows = graph.node(`${name}/Rows`, 'Reshape', [attended, flat]);
    return graph.node(`${name}/Packed`, 'Gather', [rows, 'packed']);
  }

  #once(name: string, make: (name: string) => string): string {
    const known = this.#shared.get(name) ?? make(name);
    this.#shared.set(name, known);
    return known;
  }

  #normalizeHeads(part: string, norm: string, heads: number): string {
    const { graph } = this.#ops;
    const { headDim } = this.#config;
    const apart = this.#once(`attention/${heads}/apart`, (shared) =>
      this.#ops.int64s(shared, 0, 0, heads, headDim),
    );
    const together = this.#once(`attention/${heads}/together`, (shared) =>
      this.#ops.int64s(shared, 0, 0, heads * headDim),
    );
    const each = graph.node(`${part}/Heads`, 'Reshape', [part, apart]);
    const even = this.#ops.rmsNorm(`${part}/Normalized`, norm, each, headDim);
    return graph.node(`${part}/Together`, 'Reshape', [even, together]);
  }

  #rotate(part: string, { ropeTheta, ropeScaling }: EncoderRope): string {
    const { graph } = this.#ops;
    const { headDim, numPositions } = this.#config;
    const kind = `rotary/${ropeTheta}`;
    const dims = [numPositions, headDim / 2];
    const shape = { ropeTheta, ropeScaling, rotaryDim: headDim, headDim, attentionScale: 1 };
    const tables = (['cos', 'sin'] as const).map((which) =>
      this.#once(`${kind}/${which}`, (shared) =>
        this.#ops.made(shared, dims, () =>
          Promise.resolve(rotaryTables(shape, numPositions)[which]),
        ),
      ),
    );
    const start = this.#once('rotary/start', (shared) => this.#ops.int64s(shared, 0));
    return graph.node(`${part}/Rotated`, 'RotaryEmbedding', [part, start, ...tables], {
      domain: MICROSOFT_DOMAIN,
    });
  }

  /** Keys or values, once for each head that shares them. */
  #repeated(part: string): string {
    const { graph } = this.#ops;
    const { numHeads, numKvHeads, headDim } = this.#config;
    const times = numHeads / numKvHeads;
    if (times === 1) return part;
    const shapes = [
      ['apart', 0, 0, numKvHeads, 1, headDim],
      ['times', 1, 1, 1, times, 1],
      ['whole', 0, 0, numHeads * headDim],
    ] as const;
    const [apart = '', repeats = '', whole = ''] = shapes.map(([what, ...shape]) =>
      this.#once(`attention/repeated/${what}`, (shared) => this.#ops.int64s(shared, ...shape)),
    );
    const each = graph.node(`${part}/Apart`, 'Reshape', [part, apart]);
    const many = graph.node(`${part}/Repeated`, 'Expand', [each, repeats]);
    return graph.node(`${part}/Whole`, 'Reshape', [many, whole]);
  }

  /** float [batch, heads, seq, seq], added to scores; null where distances have no embeddings. */
  #ofDistances(
    name: string,
    [query = '', key = '']: readonly string[],
    layer: number,
  ): string | null {
    const { distances } = this.#config;
    if (distances === undefined) return null;
    this.#disentangled ??= new DisentangledBias(this.#ops, this.#config, distances);
    const [asKey, asQuery] = distances.projections.map((tensor) =>
      tensor.replace('*', String(layer)),
    );
    const projections = [asKey ?? '', asQuery ?? ''] as const;
    return this.#disentangled.emit(name, { query, key }, projections, this.#distances());
  }

  /** float [1, 1 or heads, seq, seq], added to scores; null where there is nothing to add. */
  #bias(window: number | null): string | null {
    const { relativeBias } = this.#config.names;
    if (relativeBias !== null) {
      return this.#once(relativeBias, () => this.#relativeBias(relativeBias));
    }
    return window === null ? null : this.#once(`window/${window}`, () => this.#windowBias(window));
  }

  /** int64 [seq, seq]: the place of a key less that of the query. */
  #distances(): string {
    return this.#once('distances', (name) => {
      const { graph } = this.#ops;
      const int64 = (end: string, value: number) => this.#ops.int64(`${name}/${end}`, value);
      const shape = graph.node(`${name}/Shape`, 'Shape', ['padded']);
      const seq = graph.node(`${name}/Seq`, 'Gather', [shape, int64('one', 1)]);
      const range = [int64('start', 0), seq, int64('step', 1)];
      const places = graph.node(`${name}/Places`, 'Range', range);
      const column = this.#ops.int64s(`${name}/axis`, 1);
      const queries = graph.node(`${name}/Queries`, 'Unsqueeze', [places, column]);
      return graph.node(name, 'Sub', [places, queries]);
    });
  }

  #windowBias(window: number): string {
    const { graph } = this.#ops;
    const name = `window/${window}`;
    const far = graph.node(`${name}/Far`, 'Abs', [this.#distances()]);
    const most = this.#ops.int64(`${name}/most`, window);
    const isSeen = graph.node(`${name}/IsSeen`, 'LessOrEqual', [far, most]);
    const values = [this.#ops.float(`${name}/in`, 0), this.#ops.float(`${name}/out`, OUT_OF_REACH)];
    const bias = graph.node(`${name}/Bias`, 'Where', [isSeen, ...values]);
    return graph.node(name, 'Unsqueeze', [bias, this.#ops.int64s(`${name}/axes`, 0, 1)]);
  }

  #relativeBias(tensor: string): string {
    const { graph } = this.#ops;
    const { numPositions, firstPosition, numHeads } = this.#config;
    const furthest = numPositions - firstPosition - 1;
    const load = async () => {
      const buckets = await this.#ops.read(tensor, [BUCKETS, numHeads]);
      const rows = new Float32Array((2 * furthest + 1) * numHeads);
      for (let row = 0; row <= 2 * furthest; row++) {
        const start = bucketOf(row - furthest) * numHeads;
        rows.set(buckets.subarray(start, start + numHeads), row * numHeads);
      }
      return rows;
    };
    const rows = this.#ops.made(tensor, [2 * furthest + 1, numHeads], load);
    const name = 'relative';
    const middle = this.#ops.int64(`${name}/middle`, furthest);
    const which = graph.node(`${name}/Rows`, 'Add', [this.#distances(), middle]);
    const byPlace = graph.node(`${name}/ByPlace`, 'Gather', [rows, which]);
    const byHead = graph.node(`${name}/ByHead`, 'Transpose', [byPlace], {
      attributes: { perm: [2n, 0n, 1n] },
    });
    return graph.node(name, 'Unsqueeze', [byHead, this.#ops.int64s(`${name}/axes`, 0)]);
  }
}
