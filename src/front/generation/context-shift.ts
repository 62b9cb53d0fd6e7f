/** How texts go on beyond their context. */

/** A model whose answers may go on beyond its context. */
export interface ShiftedModel {
  /** Token that its prompts begin with, which always stays; null without one. */
  readonly bosTokenId: number | null;
}

/** What is left out of a text that fills its context: half of what comes after its first tokens. */
export interface ContextShift {
  /** Longest text that is computed, in tokens. */
  readonly contextLength: number;
  /** Tokens that stay, from the first on; at most half of the context. */
  readonly numKept: number;
}
