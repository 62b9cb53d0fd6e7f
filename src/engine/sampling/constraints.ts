import type { Sequence } from '../sequence.ts';
import type { SegmentLogits, SequenceFailure } from '../step.ts';

/** A bit per token, set for those allowed: [vocab / 32, rounded up]. */
export type TokenMask = Int32Array;

/** Restricts what some sequences may generate, for instance to a grammar. */
export interface Constraints {
  /**
   * Picks what can be sampled now. The masks of others are not known yet: they are left out, and their
   * last token is computed once more.
   */
  constrain(results: readonly SegmentLogits[]): ConstrainedResults;
  /**
   * The mask of a sequence that can be sampled, after `numAccepted` tokens of its draft; null when it
   * is not known.
   */
  maskOf(sequence: Sequence, numAccepted: number): TokenMask | 'free' | null;
}

export interface ConstrainedResults {
  readonly ready: readonly SegmentLogits[];
  /** Nothing may follow these. */
  readonly failures: readonly SequenceFailure[];
}
