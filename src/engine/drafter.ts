import type { Segment } from './step.ts';

/** Segments with a draft that a step has at most. */
export const MAX_DRAFTS = 4;
/**
 * The same where one of the sequences has a grammar: several texts are rarely forced at once, and
 * looking for forced text costs them all.
 */
export const MAX_CONSTRAINED_DRAFTS = 2;

/** Guesses how decoding sequences go on. */
export interface Drafter {
  /**
   * To be called in every step in which something decodes.
   * @param decode all that decodes, one token each
   * @param isAlone whether the step computes nothing else
   * @returns the same, with drafts where these pay
   */
  draft(decode: readonly Segment[], isAlone: boolean): readonly Segment[];
  /** So many tokens of a segment's draft came true. */
  count(segment: Segment, numAccepted: number): void;
}

/** A segment with a draft after it. @param segment ends with the sequence's last token */
export function withDraft(segment: Segment, draftTokenIds: Int32Array): Segment {
  const { length } = draftTokenIds;
  const numTokens = segment.numTokens + length;
  return { ...segment, numTokens, numLogits: 1 + length, draftTokenIds };
}

/** Counters without speculative decoding. */
export const NO_DRAFTS = {
  numDrafts: 0,
  numDraftTokens: 0,
  numAcceptedTokens: 0,
  numForcedDraftTokens: 0,
  numForcedAcceptedTokens: 0,
};
