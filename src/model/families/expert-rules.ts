/** How checkpoints hold the matrices of all of a layer's experts as one tensor [experts, ...]. */
export interface StackedExperts {
  /** Gates and ups; relative to the layer, in full. */
  readonly gateUp: string;
  readonly down: string;
  /** Biases [experts, ...] of gates and ups; null if the experts have none. */
  readonly gateUpBias: string | null;
  readonly downBias: string | null;
  /**
   * Matrices are [out, in] or [in, out] with gates before ups, or [in, out] with each gate next to its up
   * (if they are not quantized: then [out, in]). Either of the first two: [out, in] where a tensor has that
   * shape, else [in, out].
   */
  readonly order:
    | 'rows, gates first'
    | 'columns, gates first'
    | 'either, gates first'
    | 'columns, alternating';
}

/** Properties of a family's experts. */
export interface ExpertRules {
  /** Whether the shares of a token's experts are made to add up to 1: always, or by that flag. */
  readonly normalizesShares: 'always' | 'norm_topk_prob';
  /** The function of a router's scores that shares are made of; for the last, see sparse-mixer.ts. */
  readonly scoring: 'softmax' | 'sigmoid' | 'sparse mixer';
  /** Shares are factors of what experts read, not of what they give. */
  readonly scalesInput?: true;
  /** Whether router and experts have biases. */
  readonly bias: boolean;
  /** A correction of scores is [1, experts]. */
  readonly correctionIsRow?: boolean;
  /** Null where each matrix is a tensor by itself. */
  readonly stacked: StackedExperts | null;
}
