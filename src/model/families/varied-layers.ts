/**
 * Differences between layers of a family. Those without a window may have other heads than those with one, values
 * are normalized as keys are, without weights, and the last layers may read the keys and values of others.
 */
export interface VariedLayers {
  /** Used by models whose layers read more than the hidden state. */
  readonly inputs: LayerInputNames;
  /** Tensor [1], relative to the layer, that a layer's sum is multiplied by at its end; left out where there is none. */
  readonly scalar?: string;
  /** Left out in models without experts. */
  readonly besideMlp?: BesideMlpNames;
  /** Left out where tokens have one hidden state. */
  readonly streams?: StreamNames;
}

/**
 * Names of what keeps several hidden states of each token, of which layers compute one (Alternating Updates,
 * https://arxiv.org/abs/2301.13310).
 */
export interface StreamNames {
  /** From the embedding to each stream but the first; `*` stands for its number, from 0 on. */
  readonly projection: string;
  /** Back again, at the end. */
  readonly unembedding: string;
  /** Scores of streams, relative to the layer, as all that follow. */
  readonly router: string;
  /** Norm of what the router reads. */
  readonly routerNorm: string;
  /** From scores to what the next streams take of each one: [streams * streams, streams]. */
  readonly prediction: string;
  /** From scores to what each stream takes of what the layer changed: [streams, streams]. */
  readonly correction: string;
  /** [hidden] factors of what the layer's own embedding is gated by; in full. */
  readonly scale: string;
  /** Product of two narrow matrices that is added to attention's output (LAuReL, https://arxiv.org/abs/2411.07501). */
  readonly residual: { readonly down: string; readonly up: string; readonly norm: string };
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
