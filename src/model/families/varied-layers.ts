/**
 * Differences between layers of a family. Those without a window have other heads than those with one, values are
 * normalized as keys are, without weights, and the last layers may read the keys and values of others.
 */
export interface VariedLayers {
  /** Used by models whose layers read more than the hidden state. */
  readonly inputs: LayerInputNames;
  /** Tensor [1], relative to the layer, that a layer's sum is multiplied by at its end. */
  readonly scalar: string;
  /** Left out in models without experts. */
  readonly besideMlp?: BesideMlpNames;
}

/** Names of the second embedding of Gemma 4's small models, and of what layers make of their parts of it. */
export interface LayerInputNames {
  /** [vocabulary, layers * width]. */
  readonly embedding: string;
  /** From the first embedding to parts for all layers, which are added. */
  readonly projection: string;
  /** Norm of each of those. */
  readonly projectionNorm: string;
  /** Relative to the layer, as all that follow: from the hidden state to what its part is multiplied by. */
  readonly gate: string;
  /** Back to the hidden state's width. */
  readonly output: string;
  /** Norm of what that adds. */
  readonly norm: string;
}

/** Names of what layers have whose experts are beside an MLP, relative to the layer. */
export interface BesideMlpNames {
  /** Norm of what the MLP gives. */
  readonly mlpNorm: string;
  /** Norm of what experts read. */
  readonly inputNorm: string;
  /** Norm of what they give. */
  readonly outputNorm: string;
  /** Weights of the norm of what their router reads, times the root of the width; in full. */
  readonly routerScale: string;
}
