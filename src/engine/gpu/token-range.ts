import { type Segment, type SequenceFailure, tokenIdsOf } from '../step.ts';

/**
 * Leaves out segments with tokens outside of the vocabulary. Devices don't check token ids: they
 * would read past the end.
 * @param failures gets those that are left out
 */
export function runnable(
  segments: readonly Segment[],
  vocabSize: number,
  failures: SequenceFailure[],
): Segment[] {
  return segments.filter((segment) => {
    const outside = tokenIdsOf(segment).find((id) => id < 0 || id >= vocabSize);
    if (outside === undefined) return true;
    const message = `token ${outside} is out of range: the vocabulary has ${vocabSize}`;
    failures.push({ sequence: segment.sequence, message });
    return false;
  });
}
