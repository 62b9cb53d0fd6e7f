import type { LogitBias } from '../request.ts';
import { applyPenalties } from './penalties.ts';
import { applySpeechRule } from './speech-rule.ts';
import type { Sequence } from '../sequence.ts';
import type { TokenMask } from './constraints.ts';
import { applyTokenMask } from './token-mask.ts';

/**
 * Applies to a row of logits, in place, all that a request says about single tokens, in vLLM's
 * order: grammar, allowed tokens, bans, bias, penalties; then the rule of a text of speech. A request that says nothing costs nothing.
 * @param logits [vocab] @param mask of its grammar; null without one
 */
export function processLogits(
  logits: Float32Array,
  sequence: Sequence,
  mask: TokenMask | null = null,
): void {
  const { speechRule, sampling } = sequence.request;
  const { allowedTokenIds, logitBias } = sampling;
  if (mask) applyTokenMask(logits, mask);
  if (allowedTokenIds) keepOnly(logits, allowedTokenIds);
  banTokens(logits, sequence);
  if (logitBias) addBiases(logits, logitBias);
  applyPenalties(logits, sequence);
  if (speechRule) {
    applySpeechRule(logits, sequence.tokenIds(sequence.numPromptTokens), speechRule);
  }
}

/** A plain loop: a list may be as long as the vocabulary. So below. */
function addBiases(logits: Float32Array, { tokenIds, biases }: LogitBias): void {
  for (let index = 0; index < tokenIds.length; index++) {
    const tokenId = tokenIds[index] ?? -1;
    logits[tokenId] = (logits[tokenId] ?? 0) + (biases[index] ?? 0);
  }
}

/** If a grammar leaves none of them, the grammar wins: some token must come next. */
function keepOnly(logits: Float32Array, tokenIds: Int32Array): void {
  const kept = new Float32Array(tokenIds.length);
  for (let index = 0; index < kept.length; index++) {
    kept[index] = logits[tokenIds[index] ?? -1] ?? -Infinity;
  }
  if (!hasPossible(kept)) return;
  logits.fill(-Infinity);
  for (let index = 0; index < kept.length; index++) {
    logits[tokenIds[index] ?? -1] = kept[index] ?? -Infinity;
  }
}

function hasPossible(logits: Float32Array): boolean {
  for (let index = 0; index < logits.length; index++) {
    if ((logits[index] ?? 0) > -Infinity) return true;
  }
  return false;
}

/** If the bans would leave none of the allowed tokens, the bans give way. */
function banTokens(logits: Float32Array, sequence: Sequence): void {
  const listed = bannedTokens(sequence);
  if (listed.length === 0) return;
  const banned = new Set(listed);
  const before = Array.from(banned, (tokenId) => [tokenId, logits[tokenId] ?? 0] as const);
  for (const tokenId of banned) logits[tokenId] = -Infinity;
  if (hasPossible(logits)) return;
  for (const [tokenId, logit] of before) logits[tokenId] = logit;
}

/** Stop tokens before the least length, and the last token of each bad word that is almost there. */
function bannedTokens(sequence: Sequence): readonly number[] {
  const { badWords, minTokens, stopTokenIds } = sequence.request;
  const banned = sequence.numOutputTokens < minTokens ? stopTokenIds : [];
  if (badWords.length === 0) return banned;
  const output = sequence.tokenIds(sequence.numPromptTokens);
  const words = badWords.filter((word) => endsWith(output, word, word.length - 1));
  return [...banned, ...words.flatMap((word) => word[word.length - 1] ?? [])];
}

/** Whether `tokenIds` ends with the first `length` tokens of `word`. */
function endsWith(tokenIds: Int32Array, word: Int32Array, length: number): boolean {
  const start = tokenIds.length - length;
  if (start < 0) return false;
  for (let index = 0; index < length; index++) {
    if (tokenIds[start + index] !== word[index]) return false;
  }
  return true;
}
