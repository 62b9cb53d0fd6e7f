import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { floatData, floatInitializer } from '../quantize/float-matrix.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { emitRmsNorm } from './rms-norm.ts';

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
    if (family.norms !== 'rms') {
      const bias = family.norms === 'layer' ? [this.#bias(tensor, scale)] : [];
      const inputs = [hidden, weight, ...bias];
      return this.#graph.node(`${tensor}/Norm`, 'LayerNormalization', inputs, {
        attributes: { epsilon: rmsNormEps, axis: -1n },
      });
    }
    return emitRmsNorm(this.#graph, `${tensor}/Norm`, hidden, weight, rmsNormEps);
  }

  /** The name of what a norm multiplies [size] values by; all of them times `scale`, the same each time. */
  weight(tensor: string, size: number, scale = 1): string {
    const name = `${tensor}.weight`;
    if (this.#added.has(name)) return name;
    this.#added.add(name);
    return floatInitializer(this.#graph, name, [size], this.#type, async () => {
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
