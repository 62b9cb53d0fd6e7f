/** Differences of a decoder's graphs from its plain ones, left out where there are none. */
export interface GraphVariant {
  /** The graph takes three positions of every token; see image-positions.ts. */
  readonly takesImagePositions?: true | undefined;
  /** It takes where each token's attention ends; see image-ends.ts. */
  readonly takesImageEnds?: true | undefined;
  /** It outputs hidden states of all tokens, not only of those whose logits are wanted. */
  readonly keepsRows?: true | undefined;
  /** It is the last layer alone. */
  readonly isLastAlone?: true | undefined;
}
