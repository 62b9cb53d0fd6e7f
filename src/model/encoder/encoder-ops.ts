import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { emitActivation } from '../graph/activation.ts';
import type { LinearLayer } from '../graph/linear.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import { EncoderNodes, type EncoderNumbers } from './encoder-nodes.ts';
import type { HeadTransform, LayersConfig } from './encoder-shape.ts';

/** Nodes that all parts of an encoder's graph are made of. Values are [tokens, channels]. */
export class EncoderOps {
  readonly graph: GraphBuilder;
  readonly #nodes: EncoderNodes;
  readonly #config: Pick<LayersConfig, 'hiddenSize' | 'norm'>;
  readonly #numbers: EncoderNumbers;
  readonly #rowsLike: string;

  /** @param rowsLike a value [tokens], to count them by */
  constructor(
    graph: GraphBuilder,
    config: Pick<LayersConfig, 'hiddenSize' | 'norm'>,
    numbers: EncoderNumbers,
    rowsLike = 'input_ids',
  ) {
    this.graph = graph;
    this.#nodes = new EncoderNodes(graph, numbers);
    this.#config = config;
    this.#numbers = numbers;
    this.#rowsLike = rowsLike;
  }

  tensor(name: string, shape: readonly number[]): string {
    return this.#nodes.tensor(name, shape);
  }

  /** A tensor that is made of the checkpoint's. */
  made(name: string, shape: readonly number[], load: () => Promise<Float32Array>): string {
    return floatInitializer(this.graph, name, shape, 'float', load);
  }

  /** A tensor of the checkpoint by itself. */
  read(name: string, shape: readonly number[]): Promise<Float32Array> {
    return this.#numbers.weights.get(name, shape);
  }

  int64s(name: string, ...values: readonly number[]): string {
    const data = BigInt64Array.from(values, BigInt);
    return this.graph.initializer(name, 'int64', [values.length], data);
  }

  int64(name: string, value: number): string {
    return this.graph.initializer(name, 'int64', [], BigInt64Array.of(BigInt(value)));
  }

  float(name: string, value: number): string {
    return this.graph.initializer(name, 'float', [], Float32Array.of(value));
  }

  add(value: string, other: string | null): string {
    return other === null ? value : this.graph.node(`${value}/Sum`, 'Add', [value, other]);
  }

  /** A norm of a value, or of its sum with another; its output has the name of its tensors. */
  norm(tensor: string, value: string, other: string | null = null): string {
    const { hiddenSize, norm } = this.#config;
    if (norm.kind === 'rms')
      return this.rmsNorm(tensor, tensor, this.add(value, other), hiddenSize);
    const attributes = { epsilon: norm.epsilon };
    const weight = this.tensor(`${tensor}.weight`, [hiddenSize]);
    const bias = norm.hasBias ? [this.tensor(`${tensor}.bias`, [hiddenSize])] : [];
    if (other === null) {
      return this.graph.node(tensor, 'LayerNormalization', [value, weight, ...bias], {
        attributes,
      });
    }
    return this.graph.node(tensor, 'SkipLayerNormalization', [value, other, weight, ...bias], {
      domain: MICROSOFT_DOMAIN,
      attributes,
    });
  }

  /** An RMS norm over the last axis, by 1 + its weights. */
  rmsNorm(output: string, tensor: string, value: string, size: number): string {
    const name = `${tensor}.weight`;
    const load = async () => (await this.read(name, [size])).map((weight) => 1 + weight);
    const weight = this.made(name, [size], load);
    return emitRmsNorm(this.graph, output, value, weight, this.#config.norm.epsilon);
  }

  linear(value: string, layer: LinearLayer): string {
    return this.#nodes.linear({ value, rowsLike: this.#rowsLike }, layer);
  }

  /** A linear layer of what a norm makes. */
  normalizedLinear(norm: string, layer: LinearLayer): string {
    return this.#nodes.normalizedLinear({ value: norm, rowsLike: this.#rowsLike }, layer);
  }

  /** A linear layer in full precision, of any shape [..., hidden]. */
  dense(value: string, tensor: string, outFeatures: number, bias: boolean): string {
    const { hiddenSize: inFeatures } = this.#config;
    const layer = { name: tensor, inFeatures, parts: [{ tensor, outFeatures }], bias };
    return this.#nodes.floatLinear({ value, rowsLike: this.#rowsLike }, layer);
  }

  /** Layer of a head before its scores, in full precision. */
  transform(value: string, { dense, bias, activation, norm }: HeadTransform): string {
    const made = this.dense(value, dense, this.#config.hiddenSize, bias);
    const active =
      activation === 'tanh'
        ? this.graph.node(`${dense}/Tanh`, 'Tanh', [made])
        : emitActivation(this.graph, made, activation);
    return norm === null ? active : this.norm(norm, active);
  }
}
