import type { SpeechRule, TimestampRule } from '../request.ts';

/**
 * Removes the tokens that cannot come next in a text of speech, as OpenAI's decoder and Transformers do it: those
 * that are suppressed, and what timestamps leave no place for.
 * @param logits [vocab]; overwritten
 * @param written tokens of the text so far, the prompt's left out
 */
export function applySpeechRule(
  logits: Float32Array,
  written: Int32Array,
  { suppressed, suppressedFirst, timestamps }: SpeechRule,
): void {
  ban(logits, suppressed);
  if (written.length === 0) ban(logits, suppressedFirst);
  if (timestamps === undefined) return;
  banByTimestamps(logits, written, timestamps);
  if (areLikelier(logits, timestamps)) logits.fill(-Infinity, 0, timestamps.first);
}

function ban(logits: Float32Array, tokenIds: Int32Array): void {
  for (const tokenId of tokenIds) logits[tokenId] = -Infinity;
}

/** Timestamps come in pairs, the end of one piece and the beginning of the next, and never go back. */
function banByTimestamps(
  logits: Float32Array,
  written: Int32Array,
  { first, none, end, maxInitial }: TimestampRule,
): void {
  logits[none] = -Infinity;
  if (written.length === 0) {
    logits.fill(-Infinity, 0, first);
    if (maxInitial !== null) logits.fill(-Infinity, first + maxInitial + 1);
    return;
  }
  const isTimestamp = (at: number): boolean => (written.at(at) ?? 0) >= first;
  const isLast = isTimestamp(-1);
  // Before a text stands a beginning.
  const isOpen = written.length < 2 || isTimestamp(-2);
  if (isLast && isOpen) logits.fill(-Infinity, first);
  else if (isLast) logits.fill(-Infinity, 0, end);
  const latest = written.findLast((tokenId) => tokenId >= first);
  if (latest === undefined) return;
  // A piece has a length, and the next one may begin where it ends.
  logits.fill(-Infinity, first, isLast && !isOpen ? latest : latest + 1);
}

/** Whether all timestamps together are likelier than each token of a text. */
function areLikelier(logits: Float32Array, { first }: TimestampRule): boolean {
  let text = -Infinity;
  for (let id = 0; id < first; id++) text = Math.max(text, logits[id] ?? -Infinity);
  let largest = -Infinity;
  for (let id = first; id < logits.length; id++) {
    largest = Math.max(largest, logits[id] ?? -Infinity);
  }
  if (largest === -Infinity) return false;
  let sum = 0;
  for (let id = first; id < logits.length; id++) {
    sum += Math.exp((logits[id] ?? -Infinity) - largest);
  }
  return largest + Math.log(sum) > text;
}
