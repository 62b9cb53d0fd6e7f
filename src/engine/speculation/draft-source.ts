import type { Sequence } from '../sequence.ts';

/** A guess at how a sequence goes on. */
export interface Draft {
  readonly tokenIds: Int32Array;
  /**
   * For each token its kind: what the guess is based on, such as the length of the match. Tokens
   * of one kind come true equally often. Negative for those that a grammar forces.
   */
  readonly kinds: readonly number[];
}

export interface DraftSource {
  /** Whether making a draft takes next to no time. Otherwise all its tokens are of kind 0. */
  readonly isFree: boolean;
  /** Time that making a draft takes, in milliseconds; 0 until it is known. */
  costMs(numTokens: number): number;
  /** The share of a kind's tokens that is expected to come true before any was seen. */
  priorRate(kind: number): number;
  /**
   * @param rateOf the share of a kind's tokens that came true lately
   * @returns `numTokens` tokens, or fewer, if nothing more can be guessed
   */
  draft(sequence: Sequence, numTokens: number, rateOf: (kind: number) => number): Draft;
  /** A draft of this source is verified in this step. */
  announce?(sequence: Sequence, draftTokenIds: Int32Array): void;
  release(): void;
}
