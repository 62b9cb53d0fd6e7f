import { type LinearLayer, matrixOf } from '../graph/linear.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { largestOfColumns, smoothFactors } from '../quantize/smooth-factors.ts';

/** How large each channel of a normalization's output gets, by the normalization's name. */
export type ChannelReaches = ReadonlyMap<string, Float32Array>;

/**
 * Evens out what a layer of 8-bit integers multiplies: each channel of its input is divided by a
 * factor, and that column of its weights multiplied by it, so that a few large channels do not take
 * the integers from all others.
 */
export class Smoothing {
  readonly #weights: WeightSource;
  readonly #reaches: Float32Array;
  readonly #layer: LinearLayer;
  #factors: Promise<Float32Array> | undefined;

  /** @param reaches of the layer's input, [inFeatures] */
  constructor(weights: WeightSource, reaches: Float32Array, layer: LinearLayer) {
    this.#weights = weights;
    this.#reaches = reaches;
    this.#layer = layer;
  }

  /** Factors of the layer's input, [inFeatures]. */
  async inputFactors(): Promise<Float32Array> {
    return (await this.#columnFactors()).map((factor) => 1 / factor);
  }

  /** The checkpoint, with the layer's weights multiplied. */
  get weights(): WeightSource {
    const tensors = new Set(this.#layer.parts.map(({ tensor }) => `${tensor}.weight`));
    return {
      get: async (name, shape) => {
        const values = await this.#weights.get(name, shape);
        if (!tensors.has(name)) return values;
        const factors = await this.#columnFactors();
        return values.map((value, index) => value * (factors[index % factors.length] ?? 1));
      },
      close: () => this.#weights.close(),
    };
  }

  #columnFactors(): Promise<Float32Array> {
    this.#factors ??= this.#findFactors();
    return this.#factors;
  }

  async #findFactors(): Promise<Float32Array> {
    const largest = await largestOfColumns(this.#weights, matrixOf(this.#layer));
    return smoothFactors(this.#reaches, largest);
  }
}
