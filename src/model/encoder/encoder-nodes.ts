import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { emitLinear, type LinearLayer } from '../graph/linear.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import { type FloatFormat, type WeightFormat, weightFormats } from '../quantize/weight-format.ts';
import { type ChannelReaches, Smoothing } from './smoothing.ts';

/** How an encoder's weights are stored; int8 is multiplied with activations of 8 bits. */
export type EncoderPrecision = 'fp32' | 'int8';

/** Numbers that an encoder's graph is made of. */
export interface EncoderNumbers {
  readonly weights: WeightSource;
  readonly precision: EncoderPrecision;
  /** For int8: how large the outputs of normalizations get, which have the names of their tensors. */
  readonly reaches?: ChannelReaches | undefined;
}

/** A value, and one [rows] that has as many rows. */
export interface Rows {
  readonly value: string;
  readonly rowsLike: string;
}

const FLOAT: FloatFormat = { kind: 'float', type: 'float', activations: 'float' };

/** Nodes that encoders of texts and of images have in common. Values are [rows, channels]. */
export class EncoderNodes {
  readonly #graph: GraphBuilder;
  readonly #numbers: EncoderNumbers;
  readonly #quantizer: RowQuantizer;
  readonly #format: WeightFormat;

  constructor(graph: GraphBuilder, numbers: EncoderNumbers) {
    this.#graph = graph;
    this.#numbers = numbers;
    this.#quantizer = new RowQuantizer(graph);
    this.#format = weightFormats(numbers.precision, 'float').linear;
  }

  /** A tensor of the checkpoint, as it is. */
  tensor(name: string, shape: readonly number[]): string {
    const { weights } = this.#numbers;
    return floatInitializer(this.#graph, name, shape, 'float', () => weights.get(name, shape));
  }

  /** A linear layer in the graph's precision. */
  linear(input: Rows, layer: LinearLayer): string {
    return this.#multiply(input, layer, this.#numbers.weights, this.#format);
  }

  /** A linear layer in float32, whatever the precision. */
  floatLinear(input: Rows, layer: LinearLayer): string {
    return this.#multiply(input, layer, this.#numbers.weights, FLOAT);
  }

  /** A linear layer of what a normalization makes. */
  normalizedLinear({ value: norm, rowsLike }: Rows, layer: LinearLayer): string {
    const { reaches, weights } = this.#numbers;
    const reach = reaches?.get(norm);
    if (reach === undefined) return this.linear({ value: norm, rowsLike }, layer);
    const smoothing = new Smoothing(weights, reach, layer);
    const shape = [layer.inFeatures];
    const load = () => smoothing.inputFactors();
    const factors = floatInitializer(this.#graph, `${layer.name}.smoothing`, shape, 'float', load);
    const value = this.#graph.node(`${layer.name}/Smoothed`, 'Mul', [norm, factors]);
    return this.#multiply({ value, rowsLike }, layer, smoothing.weights, this.#format);
  }

  /**
   * Attention of all rows of a table to each other.
   * @param table [batch, rows, 3 * channels]: queries, keys and values side by side
   * @param lengths [batch], how many rows count; all if left out
   */
  attend(name: string, table: string, numHeads: number, lengths?: string): string {
    const parts = ['query', 'key', 'value'].map((part) => `${name}/${part}`);
    this.#graph.node(`${name}/Split`, 'Split', [table], {
      outputs: parts,
      attributes: { axis: -1n, num_outputs: 3n },
    });
    const inputs = lengths === undefined ? parts : [...parts, '', lengths];
    return this.#graph.node(name, 'MultiHeadAttention', inputs, {
      domain: MICROSOFT_DOMAIN,
      attributes: { num_heads: BigInt(numHeads) },
    });
  }

  #multiply(input: Rows, layer: LinearLayer, weights: WeightSource, format: WeightFormat): string {
    return emitLinear(this.#graph, weights, layer, input, format, this.#quantizer);
  }
}
