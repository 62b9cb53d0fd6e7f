/**
 * Which tokens may come next where Whisper writes times: they come in pairs, never go back, and begin a window.
 * These are Transformers' WhisperTimeStampLogitsProcessor and openai-whisper's ApplyTimestampRules.
 */
import type { SpeechTokens } from './speech-model.ts';

/** Token ids, the last one left out. */
export type TokenRange = readonly [from: number, to: number];

type RuleTokens = Pick<SpeechTokens, 'endOfText' | 'noTimestamps' | 'firstTimestamp'>;

/**
 * @param generated tokens since the prompt
 * @param maxInitial latest step of 20 ms that the first timestamp may have; null for any
 * @returns ids that may not come next; ranges may overlap, and may end at infinity
 */
export function forbiddenTokens(
  generated: readonly number[],
  { endOfText, noTimestamps, firstTimestamp }: RuleTokens,
  maxInitial: number | null,
): readonly TokenRange[] {
  const ranges: TokenRange[] = [[noTimestamps, noTimestamps + 1]];
  if (generated.length === 0) {
    ranges.push([0, firstTimestamp]);
    if (maxInitial !== null) ranges.push([firstTimestamp + maxInitial + 1, Infinity]);
    return ranges;
  }
  const isTime = (token: number | undefined) => token !== undefined && token >= firstTimestamp;
  const endsInTime = isTime(generated.at(-1));
  const endsInPair = endsInTime && (generated.length < 2 || isTime(generated.at(-2)));
  if (endsInPair) ranges.push([firstTimestamp, Infinity]);
  else if (endsInTime) ranges.push([0, endOfText]);
  const last = generated.findLast(isTime);
  // The first of a pair may come again as the second, and no other time twice.
  const isOpen = endsInTime && !endsInPair;
  if (last !== undefined) ranges.push([firstTimestamp, isOpen ? last : last + 1]);
  return ranges;
}

/**
 * Whether a time has to come next: all times together are likelier than any other token. Then all ids below
 * `firstTimestamp` are forbidden, too.
 * @param logits of the whole vocabulary, minus infinity where `forbiddenTokens` has it
 */
export function mustBeTimestamp(logits: Float32Array, firstTimestamp: number): boolean {
  const times = logits.subarray(firstTimestamp);
  const highestTime = largest(times);
  if (highestTime === -Infinity) return false;
  const sum = times.reduce((total, logit) => total + Math.exp(logit - highestTime), 0);
  return highestTime + Math.log(sum) > largest(logits.subarray(0, firstTimestamp));
}

function largest(values: Float32Array): number {
  return values.reduce((max, value) => Math.max(max, value), -Infinity);
}
