/** Attention to an encoder's output, whose keys and values are the first of each slot of the KV cache. */
import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { GroupPrefix } from './token-packing.ts';

/** Added to scores of what is not attended to: finite, since of a row of such scores a softmax is taken, too. */
const HIDDEN = -1e30;

/** Masks of a group, each added to scores. */
interface GroupMasks {
  /** [1, 1, seq, total]: hides the encoder's output from attention to the text. */
  readonly text: string;
  /** [1, 1, seq, capacity]: hides all but that. */
  readonly heard: string;
}

/** Needs of attention over slots whose first positions are an encoder's output. */
export class HeardAttention {
  readonly #graph: GraphBuilder;
  readonly #config: DecoderConfig;
  readonly #masks = new Map<GroupPrefix, GroupMasks>();

  constructor(graph: GraphBuilder, config: DecoderConfig) {
    this.#graph = graph;
    this.#config = config;
  }

  /** The name of a group's `attention_bias` of GroupQueryAttention. */
  textMask(group: GroupPrefix): string {
    return this.#masksOf(group).text;
  }

  /**
   * @param queries [batch, seq, heads * head_dim]
   * @param keys [batch, heads, capacity, head_dim], once the run's are among them; as `values`
   * @returns the name of a value shaped like `queries`
   */
  attend(group: GroupPrefix, layer: number, queries: string, keys: string, values: string): string {
    const { numHeads, attentionScale } = this.#config;
    const name = `${group}layers.${layer}.cross/MultiHeadAttention`;
    const mask = this.#masksOf(group).heard;
    // Left out: the packed bias and the padding mask.
    return this.#graph.node(name, 'MultiHeadAttention', [queries, keys, values, '', '', mask], {
      domain: MICROSOFT_DOMAIN,
      attributes: {
        num_heads: BigInt(numHeads),
        // Keys were multiplied by the root of the scale, as rotary tables do it.
        scale: Math.sqrt(attentionScale),
      },
    });
  }

  #masksOf(group: GroupPrefix): GroupMasks {
    const known = this.#masks.get(group);
    if (known !== undefined) return known;
    const graph = this.#graph;
    const name = (part: string) => `${group}masks/${part}`;
    const int = (part: string, value: number) =>
      graph.initializer(name(part), 'int64', [], BigInt64Array.of(BigInt(value)));
    const float = (part: string, value: number) =>
      graph.initializer(name(part), 'float', [], Float32Array.of(value));
    const [zero, one, two] = [int('zero', 0), int('one', 1), int('two', 2)];
    const [seen, hidden] = [float('seen', 0), float('hidden', HIDDEN)];
    const numHeard = int('positions', this.#config.crossPositions ?? 0);
    const dims = graph.node(name('dims'), 'Shape', [`${group}input_ids`]);
    const seq = graph.node(name('seq'), 'Gather', [dims, one]);
    const last = graph.initializer(name('last'), 'int64', [1], BigInt64Array.of(-1n));
    const lead = graph.initializer(name('lead'), 'int64', [2], BigInt64Array.of(1n, 1n));
    const seqDim = graph.node(name('seqDim'), 'Reshape', [seq, last]);
    const mask = (part: string, length: string, isHeardSeen: boolean): string => {
      const places = graph.node(name(`${part}/places`), 'Range', [zero, length, one]);
      const isHeard = graph.node(name(`${part}/isHeard`), 'Less', [places, numHeard]);
      const [then, otherwise] = isHeardSeen ? [seen, hidden] : [hidden, seen];
      const row = graph.node(name(`${part}/row`), 'Where', [isHeard, then, otherwise]);
      const width = graph.node(name(`${part}/width`), 'Shape', [row]);
      const shape = graph.node(name(`${part}/shape`), 'Concat', [lead, seqDim, width], {
        attributes: { axis: 0n },
      });
      return graph.node(name(part), 'Expand', [row, shape]);
    };
    const total = graph.node(name('total'), 'Cast', [`${group}total_sequence_length`], {
      attributes: { to: 7n },
    });
    const slots = graph.node(name('slots'), 'Shape', [`${group}past_key_values.0.key`]);
    const capacity = graph.node(name('capacity'), 'Gather', [slots, two]);
    const made = { text: mask('text', total, false), heard: mask('heard', capacity, true) };
    this.#masks.set(group, made);
    return made;
  }
}
