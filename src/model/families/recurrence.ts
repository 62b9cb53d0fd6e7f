/** Properties of layers that have a state in place of attention, whatever they compute. */
interface Recurrence {
  /** All layers have a state, and attend. */
  readonly isBesideAttention?: true;
  /** All layers have a state, and none attends, whatever config.json says of types. */
  readonly isInAllLayers?: true;
  /** Names in `layer_types` of config.json. */
  readonly layerTypes: readonly [string, ...string[]];
}

/**
 * Layers that convolve the last tokens, channel by channel: of an input's three parts B, C and x what they
 * give is C * convolution(B * x).
 */
export interface ShortConvolutionRules extends Recurrence {
  readonly kind: 'short convolution';
  readonly tensors: ShortConvolutionNames;
}

/** Names of tensors, without `.weight` and `.bias`, relative to the layer. */
export interface ShortConvolutionNames {
  /** The linear layer of B, C and x. */
  readonly input: string;
  /** Weights [channels, 1, kernel]. */
  readonly convolution: string;
  readonly output: string;
}

/**
 * Layers of the gated delta rule: keys and values, convolved, change a matrix for each head, which decays,
 * and queries read it; heads are normalized, and gated. In Kimi Delta Attention each dimension of keys decays by
 * itself.
 */
export interface GatedDeltaRules extends Recurrence {
  readonly kind: 'gated delta';
  readonly tensors: GatedDeltaNames;
  /** Rows of tensors with several kinds: those of a kind together, or those of a head of keys. */
  readonly fusedOrder: 'by kind' | 'by group';
}

/** As of short convolutions. */
export interface GatedDeltaNames {
  /**
   * Queries, keys and values as one tensor, and what gates the heads; or one with all; or one for each, with
   * `narrow`.
   */
  readonly input: readonly string[];
  /** How much each head learns of a token, and how much it forgets: one tensor for each, or one with both. */
  readonly gates: readonly string[];
  /** Tensor of all channels, or one of queries, one of keys and one of values. */
  readonly convolution: readonly string[];
  /** Logarithm of what heads forget, in full: [heads], or with `narrow` [1, 1, heads, 1]. */
  readonly decay: string;
  /** Added to what they are to forget, in full: [heads], or with `narrow` [heads * key_dim]. */
  readonly stepBias: string;
  /**
   * Present where each dimension of keys decays by itself: what `input` and `gates` have for the heads' gates, then
   * sigmoids, and for decays is of one head's width, and these lead from there to all heads.
   */
  readonly narrow?: { readonly outputGates: string; readonly decays: string };
  /** Norm of each head's output. */
  readonly norm: string;
  readonly output: string;
}

/**
 * Layers of Mamba-2: inputs, convolved, change a matrix for each head, which decays by a step that each token
 * chooses; what it gives is gated, then normalized.
 */
export interface SelectiveScanRules extends Recurrence {
  readonly kind: 'selective scan';
  readonly tensors: SelectiveScanNames;
  /** Heads have their width, whatever the model's is. */
  readonly hasOwnWidth?: true;
  /** The least step is `time_step_min`, and there is no largest. */
  readonly hasLeastStep?: true;
}

/** As of the gated delta rule. */
export interface SelectiveScanNames {
  /** The linear layer of what gates the heads, what is convolved, and steps. */
  readonly input: string;
  readonly convolution: string;
  readonly decay: string;
  readonly stepBias: string;
  /** Factors of inputs that are added to outputs, in full: [heads]. */
  readonly skip: string;
  /** Norm of all heads' outputs together. */
  readonly norm: string;
  readonly output: string;
}

/** Computation of layers that have a state of fixed size in place of attention. */
export type RecurrenceRules = ShortConvolutionRules | GatedDeltaRules | SelectiveScanRules;
