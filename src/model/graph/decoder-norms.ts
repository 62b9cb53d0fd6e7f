import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { floatData, floatInitializer } from '../quantize/float-matrix.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { emitNorm } from './norm.ts';

/** The norms of a decoder. */
export class DecoderNorms {
  readonly #graph: GraphBuilder;
  readonly #config: DecoderConfig;
  readonly #weights: WeightSource;
  readonly #type: FloatType;
  /**
   * Weights that are in the graph: layers that read the keys of another normalize them by its weights, and norms
   * without weights have the same.
   */
  readonly #added = new Set<string>();

  constructor(graph: GraphBuilder, config: DecoderConfig, weights: WeightSource, type: FloatType) {
    this.#graph = graph;
    this.#config = config;
    this.#weights = weights;
    this.#type = type;
  }

  /** Normalization of a value, times `scale`. */
  plain(tensor: string, hidden: string, scale = 1): string {
    const { hiddenSize, rmsNormEps, family } = this.#config;
    const weight = this.weight(tensor, hiddenSize, scale);
    const bias = family.norms === 'layer' ? this.#bias(tensor, scale) : undefined;
    const weights = [weight, bias] as const;
    return emitNorm(this.#graph, `${tensor}/Norm`, hidden, weights, family, rmsNormEps);
  }

  /** The name of what a norm multiplies [size] values by; all of them times `scale`, the same each time. */
  weight(tensor: string, size: number, scale = 1): string {
    return this.#weight(tensor, [size], scale);
  }

  /** The name of what norms multiply by whose heads have weights of their own, [heads, head_dim]. */
  weightsOfHeads(tensor: string, heads: number, headDim: number): string {
    return this.#weight(tensor, [heads, headDim], 1);
  }

  #weight(tensor: string, shape: readonly number[], scale: number): string {
    const name = `${tensor}.weight`;
    if (this.#added.has(name)) return name;
    this.#added.add(name);
    const size = shape.reduce((product, each) => product * each, 1);
    return floatInitializer(this.#graph, name, shape, this.#type, async () => {
      const values = await this.#weights.get(name, [size]);
      const offset = this.#config.family.normsAddOne ? 1 : 0;
      return values.map((value) => scale * (offset + value));
    });
  }

  /** The name of what a norm without weights multiplies [size] values by; the same each time. */
  ones(size: number): string {
    const name = `norms/ones.${size}`;
    if (this.#added.has(name)) return name;
    this.#added.add(name);
    const ones = floatData(this.#type, new Float32Array(size).fill(1));
    return this.#graph.initializer(name, this.#type, [size], ones);
  }

  #bias(tensor: string, scale: number): string {
    const { hiddenSize } = this.#config;
    const name = `${tensor}.bias`;
    return floatInitializer(this.#graph, name, [hiddenSize], this.#type, async () => {
      const values = await this.#weights.get(name, [hiddenSize]);
      return values.map((value) => scale * value);
    });
  }
}
