import type { Segment, SegmentLogits, SequenceFailure } from '../step.ts';
import type { TimedRun } from '../timed-run.ts';

/** Results of a step so far. */
export interface Results {
  readonly logits: SegmentLogits[];
  readonly failures: SequenceFailure[];
  readonly timedRuns: TimedRun[];
}

export function fail(segments: readonly Segment[], message: string, { failures }: Results): void {
  for (const { sequence } of segments) failures.push({ sequence, message });
}
