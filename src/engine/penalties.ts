import type { Sequence } from './sequence.ts';

/**
 * Applies a sequence's repetition, presence and frequency penalties to its logits, in place.
 *
 * Repetition as in Keskar et al., "CTRL" (2019), section 4.1, over prompt and output; presence and
 * frequency as the OpenAI API defines them, over the output.
 * @param logits [vocab]
 */
export function applyPenalties(logits: Float32Array, sequence: Sequence): void {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = sequence.request.sampling;
  if (repetitionPenalty !== 1) {
    for (const tokenId of new Set(sequence.tokenIds())) {
      const logit = logits[tokenId] ?? 0;
      logits[tokenId] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    }
  }
  if (presencePenalty === 0 && frequencyPenalty === 0) return;
  for (const [tokenId, count] of countTokens(sequence.tokenIds(sequence.numPromptTokens))) {
    logits[tokenId] = (logits[tokenId] ?? 0) - presencePenalty - count * frequencyPenalty;
  }
}

function countTokens(tokenIds: Int32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const tokenId of tokenIds) counts.set(tokenId, (counts.get(tokenId) ?? 0) + 1);
  return counts;
}
