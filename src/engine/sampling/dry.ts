import { isEmbedding } from '../prompt-embeddings.ts';
import type { DryPenalty } from '../request.ts';
import type { Sequence } from '../sequence.ts';

/** Largest exponent of e that float32 holds. */
const MAX_EXPONENT = 88;

/**
 * Lowers the logits of tokens that would go on with a repetition of the text: by
 * multiplier * base^(n - allowedLength) where the last n tokens occurred before and the token followed
 * them there. A breaker ends a repetition, and is never penalized itself.
 *
 * DRY ("don't repeat yourself") of text-generation-webui and llama.cpp.
 * @param logits [vocab], changed in place
 */
export function applyDry(logits: Float32Array, sequence: Sequence, penalty: DryPenalty): void {
  const { multiplier, base, allowedLength, lastTokens, breakers } = penalty;
  const { numTokens } = sequence;
  const numSeen = lastTokens === -1 ? numTokens : Math.min(lastTokens, numTokens);
  const text = sequence.tokenIds(numTokens - numSeen);
  const longest = lengthSinceBreaker(text, breakers);
  if (longest < allowedLength) return;
  const repeated = new Map<number, number>();
  const matches = matchesWithEnd(text, longest);
  for (let end = 1; end < text.length; end++) {
    const length = matches[end] ?? 0;
    const next = text[end] ?? -1;
    if (length < allowedLength || length <= (repeated.get(next) ?? -1)) continue;
    if (!breaks(breakers, next)) repeated.set(next, length);
  }
  const maxPower = base > 1 ? MAX_EXPONENT / Math.log(base) : Infinity;
  for (const [tokenId, length] of repeated) {
    const power = Math.min(length - allowedLength, maxPower);
    logits[tokenId] = (logits[tokenId] ?? 0) - multiplier * base ** power;
  }
}

function lengthSinceBreaker(text: Int32Array, breakers: Int32Array): number {
  let length = 0;
  while (length < text.length && !breaks(breakers, text[text.length - 1 - length] ?? -1)) length++;
  return length;
}

/** Nothing is said again by an image. */
function breaks(breakers: Int32Array, id: number): boolean {
  return isEmbedding(id) || has(breakers, id);
}

/** @param sorted ascending */
function has(sorted: Int32Array, value: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}

/**
 * How many tokens before each place are also the last ones of the text: the Z algorithm, from the end.
 * @param longest at most so many
 * @returns [tokens]; the entry of `end` is about the tokens before it
 */
function matchesWithEnd(text: Int32Array, longest: number): Int32Array {
  const size = text.length;
  const matches = new Int32Array(size);
  const fromEnd = (index: number) => text[size - 1 - index];
  let left = 0;
  let right = 0;
  for (let at = 1; at < size; at++) {
    let length = at < right ? Math.min(right - at, matches[size - (at - left)] ?? 0) : 0;
    while (at + length < size && fromEnd(length) === fromEnd(at + length)) length++;
    matches[size - at] = length;
    if (at + length > right) [left, right] = [at, at + length];
  }
  return matches.map((length) => Math.min(length, longest));
}
