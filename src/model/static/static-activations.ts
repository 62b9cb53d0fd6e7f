import type { TensorFactors } from './smoothed-weights.ts';

/** Calibration of a model's activations, for products whose inputs have constant scales. */
export interface StaticActivations {
  /** Factors that even out the channels of activations. */
  readonly factors: TensorFactors;
  /**
   * Step of the 8-bit integers that a linear layer's inputs become, by the layer's name, such as
   * `layers.3.mlp.down`. A layer that is not here gets a scale for each row: a constant one would lose too
   * much.
   */
  readonly steps: ReadonlyMap<string, number>;
}

/** How they are found when a model is built. */
export interface StaticCalibration {
  /** The same if and only if the texts are: a part of the build's name. */
  readonly key: string;
  /** @throws {ModelError} for a model that has none */
  readonly find: () => Promise<StaticActivations>;
}
